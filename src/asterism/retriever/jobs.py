"""A long job that fills an index: the index remembers it until it is finished, so that it can go on after a stop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from ..collection.collection import Collection
from ..settings import EncoderSettings, TokenBuild

FACT = "job"
AT_DEFAULT: tuple[object, ...] = (None, 0, {})


def describe_job(
    inputs: Sequence[str],
    model: str,
    *,
    views: Sequence[str] | None = None,
    terms: str | None = None,
    most_vectors: int = 0,
    build: TokenBuild | None = None,
    encoder: EncoderSettings | None = None,
) -> dict[str, Any]:
    """What identifies a job, as a JSON object; the keywords are those of `Retriever.create`.

    Settings at their defaults are left out: a version with one more setting still recognises the job.
    """
    given: dict[str, Any] = {"views": views, "terms": terms, "most_vectors": most_vectors}
    given |= {"build": _list_changes(build), "encoder": _list_changes(encoder)}
    settings = {name: value for name, value in given.items() if value not in AT_DEFAULT}
    return {"inputs": list(inputs), "model": model, "settings": settings}


def start_job(collection: Collection, job: Mapping[str, Any]) -> None:
    """Remember that a job is under way: whoever finds the index knows that it is not finished."""
    collection.put_fact(FACT, dict(job))


def finish_job(collection: Collection) -> None:
    """Forget the job."""
    collection.put_fact(FACT, {})


def read_job(collection: Collection) -> dict[str, Any] | None:
    """The job that was started and not finished, as it was stored; None if there is none."""
    return collection.facts(FACT) or None


def is_unfinished(collection: Collection) -> bool:
    """Whether a job was started and not finished."""
    return read_job(collection) is not None


def is_readable(stored: Mapping[str, Any]) -> bool:
    """Whether a stored job has today's form; an earlier one kept the settings as text."""
    return isinstance(stored.get("settings"), dict)


def list_differences(stored: Mapping[str, Any], job: Mapping[str, Any]) -> list[str]:
    """The names of what differs between two jobs that `is_readable`: inputs, model or settings."""
    first, second = (
        {**one["settings"], "inputs": one.get("inputs"), "model": one.get("model")} for one in (stored, job)
    )
    return sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))


def _list_changes(settings: TokenBuild | EncoderSettings | None) -> dict[str, Any]:
    """The settings that are not at their defaults."""
    if settings is None:
        return {}
    values = {field.name: (getattr(settings, field.name), field.default) for field in fields(settings)}
    return {name: value for name, (value, default) in values.items() if value != default}
