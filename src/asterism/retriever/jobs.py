"""A long job that fills an index: stored in the index until it is finished, so that it can be resumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from ..collection.collection import Collection
from ..documents.files.chunking import Chunking
from ..settings import EncoderSettings, TermCounting, TokenBuild

FACT = "job"
AT_DEFAULT: tuple[object, ...] = (None, 0, {})


def describe_job(
    inputs: Sequence[str],
    model: str,
    *,
    views: Sequence[str] | None = None,
    terms: str | None = None,
    counting: TermCounting | None = None,
    most_vectors: int = 0,
    build: TokenBuild | None = None,
    encoder: EncoderSettings | None = None,
    chunking: Chunking | None = None,
) -> dict[str, Any]:
    """What identifies a job, as a JSON object; the keywords are those of `Retriever.create` and `Retriever.sync`.

    Settings at their defaults are left out: a version with one more setting still recognises the job.
    """
    given: dict[str, Any] = {"views": views, "terms": terms, "most_vectors": most_vectors}
    given |= {"counting": _list_changes(counting), "build": _list_changes(build), "encoder": _list_changes(encoder)}
    given["chunking"] = _list_changes(chunking)
    settings = {name: value for name, value in given.items() if value not in AT_DEFAULT}
    return {"inputs": list(inputs), "model": model, "settings": settings}


def start_job(collection: Collection, job: Mapping[str, Any]) -> None:
    """Store the job in the index, which marks the index as unfinished."""
    collection.put_fact(FACT, dict(job))


def finish_job(collection: Collection) -> None:
    """Remove the job from the index."""
    collection.put_fact(FACT, {})


def read_job(collection: Collection) -> dict[str, Any] | None:
    """The stored unfinished job; None if there is none."""
    return collection.facts(FACT) or None


def is_unfinished(collection: Collection) -> bool:
    """Whether a job was started and not finished."""
    return read_job(collection) is not None


def is_readable(stored: Mapping[str, Any]) -> bool:
    """Whether a stored job has the current form; earlier versions stored the settings as text."""
    return isinstance(stored.get("settings"), dict)


def list_differences(stored: Mapping[str, Any], job: Mapping[str, Any]) -> list[str]:
    """Names of the inputs, model or settings that differ between two jobs; both must be readable."""
    first, second = (
        {**one["settings"], "inputs": one.get("inputs"), "model": one.get("model")} for one in (stored, job)
    )
    return sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))


def _list_changes(settings: TermCounting | TokenBuild | EncoderSettings | Chunking | None) -> dict[str, Any]:
    """The settings that are not at their defaults."""
    if settings is None:
        return {}
    values = {field.name: (getattr(settings, field.name), field.default) for field in fields(settings)}
    return {name: value for name, (value, default) in values.items() if value != default}
