"""asterism search, info, check, compact."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from asterism import Retriever
from tests.unit.cli.running import CORPUS, IDS, jsonl, run


def test_search_prints_tabs_when_piped(made: Path) -> None:
    ran = run("search", made, "quick fox")
    rows = [line.split("\t") for line in ran.out.splitlines()]
    assert (ran.code, ran.err) == (0, "")
    assert [row[0] for row in rows] == ["1", "2", "3"]
    assert {row[2] for row in rows} == IDS
    assert "\x1b" not in ran.out


@pytest.mark.parametrize("method", ["exact", "colbert", "xtr"])
def test_search_as_json(made: Path, method: str) -> None:
    with Retriever.open(made) as opened:
        expected = opened.search("the speed of light", 2, method=method)
    ran = run("search", made, "the speed of light", "-k", 2, "--method", method, "--json")
    assert (ran.code, ran.err) == (0, "")
    for line, hit in zip(ran.lines(), expected, strict=True):
        assert (line["id"], line["rank"], line["score"]) == (hit.id, hit.rank, hit.score)
        assert (line["title"], line["text"]) == (hit.document.title, hit.document.text)
        assert line["metadata"] == hit.document.metadata


def test_search_with_a_filter(made: Path) -> None:
    where = json.dumps({"year": {"$gte": 2001}})
    found = run("search", made, "fox", "--filter", where, "--json").lines()
    assert {line["id"] for line in found} == {"light", "python"}
    nothing = run("search", made, "fox", "--filter", '{"year": 7}', "--json")
    assert nothing == (0, "", "nothing found: no document matches the filter\n")


def test_search_for_stdin(made: Path) -> None:
    assert run("search", made, "-", stdin=b"quick fox\n").out == run("search", made, "quick fox").out
    assert run("search", made, "-", stdin=b"\xff").err == "asterism: stdin is not UTF-8 (byte 0), expected text\n"


@pytest.mark.parametrize("method", ["exact", "colbert", "xtr"])
def test_search_explained(made: Path, method: str) -> None:
    ran = run("search", made, "quick light", "--explain", "--json", "--method", method)
    for line in ran.lines():
        assert sum(match["similarity"] for match in line["matches"]) == pytest.approx(line["score"], rel=1e-5)
        assert line["imputed"] == 0
        for match in line["matches"]:
            if match["begin"] >= 0:
                assert line[match["field"]][match["begin"] : match["end"]].lower() == match["token"].strip("#")
    plain = run("search", made, "quick light", "--explain", "--method", method).out
    assert len(plain.splitlines()) == sum(1 + len(line["matches"]) for line in ran.lines())


def test_search_in_an_empty_index(folder: Path) -> None:
    assert run("delete", folder, *IDS, "-q").code == 0
    assert run("search", folder, "fox") == (0, "", "nothing found: the index has no documents to search\n")


@pytest.mark.parametrize("k", [4, 20, 99999999999999999999])
def test_more_than_there_are(made: Path, k: int) -> None:
    ran = run("search", made, "fox", "-k", k, "--json")
    assert (ran.code, {line["id"] for line in ran.lines()}, ran.err) == (0, IDS, "")


def test_a_query_that_is_too_long_is_cut_with_a_warning(made: Path) -> None:
    ran = run("search", made, "-", "--json", "--explain", stdin=b"fox " * 500_000)
    assert (ran.code, {line["id"] for line in ran.lines()}) == (0, IDS)
    assert ran.err.startswith("asterism: the query 'fox fox fox ")
    assert "of its 2,000,000 characters are searched" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_moved_model(folder: Path, model: Path, tmp_path: Path) -> None:
    shutil.copytree(model, tmp_path / "a")
    content = jsonl(tmp_path / "x.jsonl", CORPUS)
    assert run("index", content, "--to", tmp_path / "moved.ast", "--model", tmp_path / "a").code == 0
    shutil.move(tmp_path / "a", tmp_path / "b")
    ran = run("search", tmp_path / "moved.ast", "fox")
    assert ran.code == 2
    assert "--model" in ran.err
    assert run("search", tmp_path / "moved.ast", "fox", "--model", tmp_path / "b").out.count("\n") == 3


def test_info(made: Path) -> None:
    found = dict(line.split("\t") for line in run("info", made).out.splitlines())
    data = run("info", made, "--json").lines()
    assert len(data) == 1
    assert list(found) == list(data[0])
    assert found["documents"] == str(data[0]["documents"]) == "3"


def test_check(folder: Path) -> None:
    assert run("check", folder) == (0, "", f"{folder}: all 3 documents are intact\n")
    assert run("check", folder, "--quiet") == (0, "", "")
    assert run("check", folder, "--json").lines() == [{"path": str(folder), "ok": True, "documents": 3}]
    file = next(folder.rglob("codes.npy"))
    file.write_bytes(file.read_bytes()[:-1])
    for command in (["check", folder], ["search", folder, "fox"]):
        ran = run(*command)
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.count("\n") == 1


def test_compact(folder: Path) -> None:
    run("delete", folder, "fox")
    found = run("compact", folder, "--json").lines()[0]
    assert (found["documents"], found["deleted"], found["segments"]) == (2, 0, 1)
    assert found["bytes_before"] > found["bytes"]
    ran = run("compact", folder)
    assert (ran.code, ran.out, ran.err.count(" MB -> ")) == (0, "", 1)
