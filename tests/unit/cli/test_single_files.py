"""Ordinary files that are given to `index` and `add` by their names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from asterism import EncoderSettings, Retriever, read_documents
from asterism.cli.inputs import CheckedInputs
from asterism.retriever.jobs import describe_job, start_job
from tests.unit.cli.running import ids, jsonl, run
from tests.unit.results.conftest import Validate

WORDS = ("--views", "lexical")
AS_ASKED: dict[str, Any] = {"views": ["lexical"], "encoder": EncoderSettings(precision="int8")}
PARTS = "\n\n".join(f"## Part {i}\n\nAnimal{i} is one of many animals." for i in range(4))


@pytest.fixture
def index(tmp_path: Path) -> Path:
    (tmp_path / "a.md").write_text(PARTS)
    (tmp_path / "table.csv").write_text("fox,dog\nred,brown\n")
    given = (tmp_path / "a.md", tmp_path / "table.csv")
    assert run("index", *given, "--to", tmp_path / "x.ast", *WORDS, "-q") == (0, "", "")
    return tmp_path / "x.ast"


def test_a_search_shows_the_line(index: Path) -> None:
    assert run("search", index, "animal2").out.rstrip("\n").endswith("\ta.md:11")
    assert run("search", index, "brown").out.rstrip("\n").endswith("\ttable.csv:2")


def test_a_file_is_replaced_as_a_whole(index: Path, tmp_path: Path, validate: Validate) -> None:
    """Without stale passages, and without touching what others called so."""
    more = jsonl(tmp_path / "more.jsonl", [{"_id": "a.md#9", "text": "my own animal3"}])
    assert run("add", index, more, "-q").code == 0
    assert run("add", index, tmp_path / "a.md").code == 2
    (tmp_path / "a.md").write_text("A hen.")
    (done,) = run("add", index, tmp_path / "a.md", "--update", "--json").lines()
    validate("command-add", done)
    assert [done[name] for name in ("added", "replaced", "removed", "skipped")] == [0, 1, 3, 0]
    assert set(ids(index)) == {"a.md#1", "table.csv#1", "a.md#9"}
    assert run("search", index, "animal3 animal2").out.count("\n") == 1
    (done,) = run("add", index, tmp_path / "a.md", "--update", "--json").lines()
    assert (done["replaced"], done["removed"]) == (1, 0)


def test_a_file_of_a_folder_is_not_added_again(tmp_path: Path) -> None:
    (tmp_path / "n" / "deep").mkdir(parents=True)
    (tmp_path / "n" / "a.txt").write_text("a fox")
    assert run("index", tmp_path / "n", "--to", tmp_path / "x.ast", *WORDS, "-q").code == 0
    new = tmp_path / "n" / "deep" / "new.txt"
    new.write_text("a hen")
    (tmp_path / "link.txt").symlink_to(new)
    for given in (new, tmp_path / "link.txt"):
        ran = run("add", tmp_path / "x.ast", given)
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert "lies in the folder 'n' of the index, expected other files: `asterism sync DIR`" in ran.err
    assert run("index", tmp_path / "n", new, "--to", tmp_path / "y.ast", *WORDS).err.count("given too") == 1
    assert not (tmp_path / "y.ast").exists()
    assert ids(tmp_path / "x.ast") == ["n/a.txt#1"]


@pytest.mark.parametrize("name", ["r.jsonl", "r.tsv"])
def test_records_of_a_folder_are_not_added_again(tmp_path: Path, name: str) -> None:
    (tmp_path / "n").mkdir()
    (tmp_path / "n" / "a.txt").write_text("a fox")
    (tmp_path / "n" / name).write_text(
        '{"_id": "k", "text": "zebra"}\n' if name == "r.jsonl" else "id\ttext\nk\tzebra\n"
    )
    index = tmp_path / "x.ast"
    assert "given too" in run("index", tmp_path / "n", tmp_path / "n" / name, "--to", index, *WORDS).err
    assert run("index", tmp_path / "n", "--to", index, *WORDS, "-q").code == 0
    assert "lies in the folder 'n'" in run("add", index, tmp_path / "n" / name).err
    assert run("search", index, "zebra").out.count("\n") == 1


def test_a_file_that_changed_is_not_mixed_with_what_it_was(tmp_path: Path) -> None:
    table, index = tmp_path / "t.csv", tmp_path / "x.ast"
    table.write_text("word\none\ntwo\n")
    assert run("index", table, "--to", index, *WORDS, "-q").code == 0
    assert run("add", index, table, "--skip-existing", "--json").lines()[0]["skipped"] == 2
    table.write_text("word\nzero\none\ntwo\n")
    ran = run("add", index, table, "--skip-existing")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "t.csv has changed since it was added (t.csv#1 is another text): use --update" in ran.err
    assert ids(index) == ["t.csv#1", "t.csv#2"]


def test_an_input_that_changed_before_the_index_was_finished(tmp_path: Path) -> None:
    """What is in the index afterwards is what the inputs say then."""
    table, lines, index = tmp_path / "t.csv", tmp_path / "d.jsonl", tmp_path / "x.ast"
    table.write_text("word\none\ntwo\nthree\n")
    jsonl(lines, [{"_id": "a", "text": "alpha"}, {"_id": "b", "text": "beta"}])
    assert run("index", table, lines, "--to", index, *WORDS, "-q").code == 0
    with Retriever.open(index) as retriever:  # as if it had been killed before the last batch
        start_job(retriever.collection, describe_job([str(table), str(lines)], "all-MiniLM-L6-v2", **AS_ASKED))
        retriever.delete(["b"])
    table.write_text("word\nzero\none\n")
    jsonl(lines, [{"_id": "a", "text": "gamma"}, {"_id": "c", "text": "delta"}])
    assert run("index", table, lines, "--to", index, *WORDS, "-q") == (0, "", "")
    with Retriever.open(index) as retriever:
        assert {one.id: one.text for one in retriever} == {
            "t.csv#1": "word: zero",
            "t.csv#2": "word: one",
            "a": "gamma",
            "c": "delta",
        }


def test_the_same_words_in_another_folder_are_another_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("d1", "d2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.csv").write_text(f"word\n{name}\n")
    monkeypatch.chdir(tmp_path / "d1")
    assert run("index", "t.csv", "--to", "../x.ast", *WORDS, "-q").code == 0
    with Retriever.open("../x.ast") as retriever:
        start_job(retriever.collection, describe_job([str(tmp_path / "d1" / "t.csv")], "all-MiniLM-L6-v2", **AS_ASKED))
    monkeypatch.chdir(tmp_path / "d2")
    assert "was begun with other inputs" in run("index", "t.csv", "--to", "../x.ast", *WORDS).err
    monkeypatch.chdir(tmp_path / "d1")
    assert run("index", "t.csv", "--to", "../x.ast", *WORDS, "-q").code == 0


def test_documents_are_added_before_folders(tmp_path: Path) -> None:
    """A document that was there first keeps its id, and the file is left out with a reason."""
    (tmp_path / "n").mkdir()
    (tmp_path / "n" / "m.md").write_text("one")
    (tmp_path / "n" / "o.md").write_text("two")
    given = jsonl(tmp_path / "own.jsonl", [{"_id": "n/m.md#1", "text": "own"}])
    index = tmp_path / "x.ast"
    assert run("index", jsonl(tmp_path / "f.jsonl", [{"_id": "f", "text": "fox"}]), "--to", index, *WORDS).code == 0
    ran = run("add", index, tmp_path / "n", given)
    assert ran.code == 0
    assert "1 id taken" in ran.err
    assert ids(index) == ["f", "n/m.md#1", "n/o.md#1"]
    ran = run("add", index, given, "--update")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "own.jsonl:1: the id 'n/m.md#1' is kept for a passage of the folder 'n'" in ran.err


def test_a_folder_takes_over_its_single_files(index: Path, tmp_path: Path, validate: Validate) -> None:
    """Nothing is there twice, and files that the folder leaves out stay."""
    (tmp_path / "n").mkdir()
    (tmp_path / "n" / "b.md").write_text("A goat.")
    assert run("add", index, tmp_path / "n" / "b.md", "-q").code == 0
    assert set(ids(index)) == {"a.md#1", "a.md#2", "a.md#3", "a.md#4", "table.csv#1", "b.md#1"}
    folder = tmp_path.name
    (done,) = run("sync", index, tmp_path, "--exclude", "*.csv", "--json").lines()
    validate("command-sync", done)
    assert (done["read"], done["passages_removed"]) == (2, 5)
    there = {f"{folder}/a.md#{i}" for i in range(1, 5)} | {f"{folder}/n/b.md#1", "table.csv#1"}
    assert set(ids(index)) == there
    assert run("sync", index, "--json").lines()[0]["unchanged"] == 2
    assert set(ids(index)) == there
    with Retriever.open(index) as retriever:
        assert retriever.collection.facts("file:a.md") == {}


@pytest.mark.parametrize("option", [[], ["--update"], ["--skip-existing"]])
def test_another_file_of_the_same_name_replaces_none(tmp_path: Path, option: list[str]) -> None:
    first, second = tmp_path / "pa" / "README.md", tmp_path / "pb" / "README.md"
    for file in (first, second):
        file.parent.mkdir()
        file.write_text(f"about {file.parent.name}")
    index = tmp_path / "x.ast"
    assert run("index", first, "--to", index, *WORDS, "-q").code == 0
    ran = run("add", index, second, *option)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert f"the index has {first}, expected one file of a name: give their folders" in ran.err
    assert run("search", index, "pa").out.count("README.md#1") == 1
    first.unlink()  # moved
    assert run("add", index, second, "--update", "-q").code == 0
    first.write_text("about pa")
    assert f"the index has {second}" in run("add", index, first, "--update").err


def test_advice_if_it_is_not_known_where_a_file_was(tmp_path: Path) -> None:
    """As in an index of an earlier version, or one that was made in Python."""
    (tmp_path / "a.md").write_text("a fox")
    with Retriever.create(tmp_path / "x.ast", views=["lexical"]) as made:
        made.add(read_documents(tmp_path / "a.md"))
    ran = run("add", tmp_path / "x.ast", tmp_path / "a.md")
    assert "use --update if it is the same file; for another of this name, sync its folder" in ran.err


def test_two_files_of_the_same_name(tmp_path: Path) -> None:
    for name in ("pa", "pb"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "README.md").write_text(f"about {name}")
    ran = run("index", tmp_path / "pa" / "README.md", tmp_path / "pb" / "README.md", "--to", tmp_path / "x.ast", *WORDS)
    assert (ran.code, ran.out) == (2, "")
    assert "pb/README.md:1: the id 'README.md#1' came before" in ran.err
    assert not (tmp_path / "x.ast").exists()


def test_encodings_are_told_once(tmp_path: Path) -> None:
    latin = tmp_path / "latin.txt"
    latin.write_bytes("Ein früher Käfer läuft über die Straße.".encode("latin-1"))
    ran = run("index", latin, "--to", tmp_path / "x.ast", *WORDS)
    assert (ran.code, ran.err.count("read as")) == (0, 1)
    assert ran.err.startswith(f"{latin}: read as latin-1\n")
    assert run("search", tmp_path / "x.ast", "Käfer").out.count("\n") == 1


def test_the_size_of_passages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted run goes on with the same size only."""
    (tmp_path / "long.txt").write_text("A sentence of some words about a fox. " * 40)
    command = ("index", tmp_path / "long.txt", "--to", tmp_path / "x.ast", *WORDS, "-q", "--chunk-tokens")

    def stop(self: CheckedInputs) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(CheckedInputs, "__len__", stop)
        assert run(*command, 50).code == 130
    ran = run(*command, 100)
    assert (ran.code, "other inputs or settings (chunking)" in ran.err) == (2, True)
    assert run(*command, 50).code == 0
    assert len(ids(tmp_path / "x.ast")) > 5
