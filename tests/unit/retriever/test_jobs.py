"""What identifies a long job, and how an index remembers it."""

from __future__ import annotations

from typing import Any

import pytest

from asterism import EncoderSettings, Retriever, TermCounting, TokenBuild
from asterism.retriever.jobs import (
    describe_job,
    finish_job,
    is_readable,
    is_unfinished,
    list_differences,
    read_job,
    start_job,
)
from tests.unit.retriever.documents import Put

JOB = describe_job(["a.jsonl"], "m", build=TokenBuild(bits=2), encoder=EncoderSettings(precision="int8"))


def test_a_job_is_remembered_until_it_is_finished(put: Put) -> None:
    made = put()
    assert not made.info()["unfinished"]
    start_job(made.collection, JOB)
    with Retriever.open(made.path) as opened:
        assert opened.info()["unfinished"]
        assert read_job(opened.collection) == JOB
        assert list_differences(JOB, JOB) == []
        finish_job(opened.collection)
    assert read_job(made.collection) is None
    assert not is_unfinished(made.collection)


def test_settings_at_their_defaults_are_left_out() -> None:
    """So that a version with one more setting recognises the jobs of this one."""
    plain = describe_job(["a.jsonl"], "m")
    assert plain == {"inputs": ["a.jsonl"], "model": "m", "settings": {}}
    same = describe_job(["a.jsonl"], "m", terms=None, most_vectors=0, build=TokenBuild(), encoder=EncoderSettings())
    assert same == plain == describe_job(["a.jsonl"], "m", counting=TermCounting())
    assert describe_job([], "m", counting=TermCounting(k1=1.5))["settings"] == {"counting": {"k1": 1.5}}
    assert JOB["settings"] == {"build": {"bits": 2}, "encoder": {"precision": "int8"}}


@pytest.mark.parametrize(
    ("other", "names"),
    [
        (describe_job(["b.jsonl"], "m"), ["build", "encoder", "inputs"]),
        (describe_job(["a.jsonl"], "n", build=TokenBuild(bits=2), views=[]), ["encoder", "model", "views"]),
        ({"settings": {}}, ["build", "encoder", "inputs", "model"]),
        ({"inputs": 5, "settings": {"build": 3, "new": 1}}, ["build", "encoder", "inputs", "model", "new"]),
    ],
)
def test_differences_are_named(other: dict[str, Any], names: list[str]) -> None:
    assert list_differences(other, JOB) == names


@pytest.mark.parametrize(
    "stored", [{"views": "None", "build": "TokenBuild(bits=4)", "inputs": []}, {"demo": True}, {"settings": "none"}]
)
def test_an_earlier_form_is_known(stored: dict[str, Any]) -> None:
    assert not is_readable(stored)
    assert is_readable(JOB)
