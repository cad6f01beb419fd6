"""The JSON form of results: real answers follow the schema, and so do the examples of docs/json.md."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import ValidationError

from asterism import Document, Retriever, TokenSearch
from tests import layouts
from tests.unit.cli.running import run
from tests.unit.results.conftest import Validate

PAGE = Path(__file__).parents[3] / "docs" / "json.md"
METHODS = ["exact", "colbert", "xtr", "dense", "lexical", "hybrid", "hybrid:rrf"]
DOCUMENTS = [
    Document("fox", "The quick brown fox jumps over the lazy dog.", metadata={"year": 1999, "tags": ["a", None]}),
    Document("light", "Who first measured the speed of light?", "Speed"),
    Document("moon", "月球是地球唯一的天然卫星。", "天体：月球"),
]


@pytest.fixture(scope="module")
def retriever(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Retriever]:
    folder = tmp_path_factory.mktemp("json")
    with Retriever.create(folder / "x.ast", layouts.bge_m3(folder / "model")) as made:
        made.add(DOCUMENTS)
        yield made


@pytest.mark.parametrize("method", METHODS)
def test_answers_follow_the_schema(retriever: Retriever, method: str, validate: Validate) -> None:
    ranking = retriever.search("the quick light", method=method)
    reasons = [retriever.explain(ranking.query, hit.id, method=method) for hit in ranking]
    assert len(reasons) > 0
    plain, explained = ranking.to_json(), ranking.to_json(reasons)
    validate("ranking", plain)
    validate("ranking", explained)
    assert [hit.to_json() for hit in ranking] == plain["hits"]
    for reason, hit in zip(reasons, explained["hits"], strict=True):
        validate("explanation", reason.to_json())
        both = reason.to_json().keys() & hit.keys()
        assert {key: hit[key] for key in both - {"score"}} == {key: reason.to_json()[key] for key in both - {"score"}}
        assert ("shares" in hit) == method.startswith("hybrid")


def test_a_length_penalty_follows_the_schema(retriever: Retriever, validate: Validate) -> None:
    settings = TokenSearch(length_penalty=0.03)
    ranking = retriever.search("the quick light", settings=settings)
    reasons = [retriever.explain(ranking.query, hit.id, settings=settings) for hit in ranking]
    explained = ranking.to_json(reasons)
    validate("ranking", explained)
    assert [hit["length_penalty"] for hit in explained["hits"]] == [reason.length_penalty for reason in reasons]
    validate("explanation", reasons[0].to_json())
    with pytest.raises(ValidationError):
        validate("explanation", {**reasons[0].to_json(), "length_penalty": 0})


@pytest.mark.parametrize("method", METHODS)
def test_the_command_prints_the_hits_of_the_ranking(retriever: Retriever, method: str) -> None:
    asked = ("search", retriever.path, "the quick light", "--method", method, "--json")
    ranking = retriever.search("the quick light", method=method)
    assert run(*asked).lines() == json.loads(json.dumps(ranking.to_json()["hits"]))
    for line, hit in zip(run(*asked, "--explain").lines(), ranking, strict=True):
        reason = retriever.explain(ranking.query, hit.id, method=method)
        assert line == json.loads(json.dumps(hit.to_json(reason)))


def test_explanations_of_other_hits_are_refused(retriever: Retriever) -> None:
    ranking = retriever.search("fox")
    with pytest.raises(ValueError, match="shorter"):
        ranking.to_json([retriever.explain("fox", "fox")])


def test_the_schema_refuses_what_is_missing_or_unknown(retriever: Retriever, validate: Validate) -> None:
    hit = retriever.search("fox", 1)[0].to_json()
    for wrong in ({**hit, "rank": 0}, {**hit, "other": 1}, {**hit, "matches": []}, {"id": "fox"}):
        with pytest.raises(ValidationError):
            validate("hit", wrong)


# --- the page ---


def blocks() -> list[tuple[str, Any]]:
    """(the heading above it, value) of every JSON block of the page."""
    sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = [(section.split("\n")[0], section) for section in sections]
    return [
        (heading, json.loads(block))
        for heading, section in found
        for block in re.findall(r"```json\n(.*?)```", section, re.DOTALL)
    ]


def test_the_page_is_up_to_date() -> None:
    script = PAGE.parents[1] / "scripts" / "json_docs.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_page_follows_the_schema(validate: Validate) -> None:
    shown = [heading for heading, _ in blocks()]
    assert shown == ["hit", "hit", "ranking", "explanation", "error", "The schema"]
    for heading, value in blocks():
        if heading != "The schema":
            validate(heading, value)
