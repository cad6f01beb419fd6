"""`asterism cross` and `asterism search --rerank`, with a tiny random cross-encoder."""

from __future__ import annotations

from pathlib import Path

import pytest

from asterism import Retriever, load_pair_scorer
from asterism.factorised.table import FOLDER
from tests import layouts
from tests.unit.cli.running import IDS, run

QUESTIONS = ["who measured light?", "a quick animal", "how to run code"]


@pytest.fixture(scope="module")
def scorer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return layouts.cross_encoder(tmp_path_factory.mktemp("models") / "cross")


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    file = tmp_path / "questions.txt"
    file.write_text("\n".join(QUESTIONS) + "\n")
    return file


def test_build_search_info(folder: Path, scorer: Path, questions: Path) -> None:
    ran = run("cross", "build", folder, "--model", scorer, "--queries", questions)
    assert ran.code == 0, ran.err
    assert "3 documents for 3 queries: 9 calls" in ran.err
    (found,) = run("cross", "info", folder, "--json").lines()
    assert (found["documents"], found["scored"], found["anchor_queries"]) == (3, 3, 3)
    assert found["model"] == str(scorer)
    for method in ("adacur", "anncur", "axn", "rerank"):
        ran = run("cross", "search", folder, "light", "--method", method, "--calls", "3", "--json")
        assert ran.code == 0, ran.err
        assert {hit["id"] for hit in ran.lines()} == IDS
        assert "3 calls" in ran.err
    expected = load_pair_scorer(scorer, precision="int8")
    with Retriever.open(folder) as retriever:
        for hit in ran.lines():
            text = retriever.get(hit["id"]).full_text
            assert hit["score"] == pytest.approx(float(expected.score("light", [text])[0]), abs=1e-5)
        assert retriever.search("light", 2, method="cross").ids == [hit["id"] for hit in ran.lines()[:2]]


def test_sparse(tmp_path: Path, scorer: Path, questions: Path) -> None:
    """Two documents a query, and the dense vectors fitted to them."""
    folder, source = tmp_path / "dense.ast", tmp_path / "documents.jsonl"
    source.write_text("".join(f'{{"_id": "d{number}", "text": "light fox {number}"}}\n' for number in range(5)))
    model = layouts.bge_m3(tmp_path / "dense")
    assert run("index", source, "--to", folder, "--model", model).code == 0
    ran = run("cross", "build", folder, "--model", scorer, "--queries", questions, "--sparse", "2")
    assert ran.code == 0, ran.err
    assert "2 documents for 3 queries: at most 6 calls" in ran.err
    assert "6 pairs scored" in ran.err
    assert "--method axn" in ran.err
    (found,) = run("cross", "info", folder, "--json").lines()
    assert (found["pairs"], found["model"]) == (6, str(scorer))
    ran = run("cross", "search", folder, "light", "--method", "axn", "--calls", "4", "--json")
    assert (ran.code, len(ran.lines())) == (0, 4), ran.err
    assert run("check", folder).code == 0


def test_rerank(folder: Path, scorer: Path) -> None:
    ran = run("search", folder, "light", "--rerank", scorer, "--depth", "2", "--json")
    assert ran.code == 0, ran.err
    first = {hit["id"] for hit in run("search", folder, "light", "-k", "2", "--json").lines()}
    assert {hit["id"] for hit in ran.lines()} == first
    assert [hit["score"] for hit in ran.lines()] == sorted((hit["score"] for hit in ran.lines()), reverse=True)
    assert run("search", folder, "light", "--rerank", scorer, "--explain").code == 0


def test_without_a_build(folder: Path, scorer: Path) -> None:
    ran = run("cross", "search", folder, "light", "--method", "rerank", "--calls", "2", "--model", scorer, "--json")
    assert (ran.code, len(ran.lines())) == (0, 2), ran.err
    assert "2 calls in " in ran.err
    for method in ("adacur", "axn"):  # the index has no dense vectors
        ran = run("cross", "search", folder, "light", "--method", method, "--calls", "2", "--model", scorer)
        assert (ran.code, ran.out) == (2, "")
        assert "has no scores of anchor queries" in ran.err


def test_damage(folder: Path, scorer: Path, questions: Path) -> None:
    """Every command that reads the scores says so; those that do not go on."""
    build = ("cross", "build", folder, "--model", scorer, "--queries", questions)
    assert run(*build).code == 0
    files = sorted(file for file in (folder / FOLDER).rglob("*") if file.suffix in (".npy", ".json"))
    assert len(files) == 3
    checks = (("check", folder), ("repair", folder))  # a repair cannot compute scores
    for file in files:
        content = file.read_bytes()
        for place in (0, len(content) // 2, len(content) - 2):
            file.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
            for command in (build, ("cross", "search", folder, "light", "--calls", "2"), *checks):
                ran = run(*command)
                assert ran.code == 1, (file.name, place, command)
                assert "build the scores again" in ran.err
            for command in (("search", folder, "light"), ("compact", folder)):
                assert run(*command).code == 0, (file.name, place, command)
        file.write_bytes(content)
    assert run(*build).code == 0


def test_documents_that_came_later(folder: Path, scorer: Path, questions: Path, tmp_path: Path) -> None:
    """They are found by the ordinary search until the build is run again."""
    build = ("cross", "build", folder, "--model", scorer, "--queries", questions)
    assert run(*build).code == 0
    new = tmp_path / "new.jsonl"
    new.write_text('{"_id": "new", "text": "The speed of light, measured again."}\n')
    assert run("add", folder, new).code == 0
    found = run("cross", "search", folder, "light", "--calls", "4", "--json").lines()
    assert {hit["id"] for hit in found} == IDS | {"new"}
    assert run("cross", "info", folder, "--json").lines()[0]["scored"] == 3
    assert run(*build).code == 0
    assert run("cross", "info", folder, "--json").lines()[0]["scored"] == 4


def test_bad_input(folder: Path, scorer: Path, questions: Path, tmp_path: Path, model: Path) -> None:
    def refuse(*arguments: object) -> str:
        ran = run("cross", *arguments)
        assert (ran.code, ran.out) == (2, ""), ran
        last = ran.err.strip().splitlines()[-1]  # after the number of calls
        assert last.startswith("asterism: ")
        return last

    assert "has no scores of anchor queries" in refuse("search", folder, "light")
    assert "has no scores of anchor queries" in refuse("info", folder)
    empty = tmp_path / "empty.txt"
    empty.write_text("\n \n")
    assert "there are no anchor queries" in refuse("build", folder, "--model", scorer, "--queries", empty)
    assert not (folder / FOLDER).exists()
    assert "anchors is 'best'" in refuse(
        "build", folder, "--model", scorer, "--queries", questions, "--anchors", "best"
    )
    refuse("build", folder, "--model", scorer, "--queries", tmp_path / "none.txt")
    build = ("build", folder, "--model", scorer, "--queries", questions)
    assert "seed is -1, expected" in refuse(*build, "--seed", "-1")
    assert "--float16 is given with --sparse" in refuse(*build, "--sparse", "2", "--float16")
    assert not (folder / FOLDER).exists()
    assert run("cross", "build", folder, "--model", model, "--queries", questions).code != 0
    assert run("cross", "build", folder, "--model", scorer, "--queries", questions).code == 0
    other = tmp_path / "other.txt"
    other.write_text("something else\n")
    assert "are not the 1 given ones" in refuse("build", folder, "--model", scorer, "--queries", other)
    different = layouts.emb_cross_encoder(tmp_path / "different")
    assert "is not the model" in refuse("search", folder, "light", "--model", different)
    assert "which is not the given one" in refuse("build", folder, "--model", different, "--queries", questions)
    assert "calls is 0" in refuse("search", folder, "light", "--calls", "0")
