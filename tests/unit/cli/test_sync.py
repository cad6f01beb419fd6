"""`asterism sync`, and folders given to `index` and `add`."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from asterism import Retriever
from tests.unit.cli.running import COMMAND, environment, ids, jsonl, on_terminal, run
from tests.unit.results.conftest import Validate

WORDS = ("--views", "lexical")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# Foxes\n\nThe quick brown fox.\n")
    (folder / "b.txt").write_text("The lazy dog sleeps.\n")
    (folder / "broken.md").symlink_to("nowhere")
    return folder


@pytest.fixture
def index(notes: Path, tmp_path: Path) -> Path:
    assert run("index", notes, "--to", tmp_path / "notes.ast", *WORDS, "-q") == (0, "", "")
    return tmp_path / "notes.ast"


def test_index_then_sync(index: Path, notes: Path, validate: Validate) -> None:
    (notes / "a.md").write_text("Hens.")
    (notes / "b.txt").unlink()
    ran = run("sync", index, notes, "--json")
    (found,) = ran.lines()
    validate("command-sync", found)
    assert (ran.code, ran.err) == (0, "")
    assert [found[name] for name in ("read", "replaced", "unchanged", "removed", "documents")] == [0, 1, 0, 1, 1]
    assert found["skipped"] == {"broken link": 1}
    assert run("sync", index, notes, "--json").lines()[0]["unchanged"] == 1


def test_the_summary_names_bad_files_and_encodings(index: Path, notes: Path) -> None:
    (notes / "latin.txt").write_bytes("Ein früher Käfer läuft über die Straße.".encode("latin-1"))
    ran = run("sync", index, "--dry-run")
    assert (ran.code, ran.out) == (0, "")
    lines = ran.err.splitlines()
    assert lines[:3] == [
        "would be: files: 1 read, 0 replaced, 2 unchanged, 0 removed, 1 skipped (1 broken link)",
        "  notes/broken.md: broken link: a link to nothing",
        "  notes/latin.txt: read as latin-1",
    ]
    assert run("sync", index, "--quiet") == (0, "", "")
    assert "notes/latin.txt#1" in ids(index)


def test_two_folders_with_the_same_file(notes: Path, tmp_path: Path) -> None:
    for name in ("pa", "pb"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "README.md").write_text(f"about {name}")
    assert run("index", tmp_path / "pa", tmp_path / "pb", "--to", tmp_path / "x.ast", *WORDS, "-q").code == 0
    assert ids(tmp_path / "x.ast") == ["pa/README.md#1", "pb/README.md#1"]


def test_every_format_is_read_or_told(tmp_path: Path) -> None:
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    for name in ("page.html", "table.csv", "code.py", "README"):
        (mixed / name).write_text("fox,dog\nred,brown\n")
    (mixed / "paper.pdf").write_bytes(b"%PDF-1.4 broken")
    (mixed / "data.bin").write_bytes(b"\0\1\2")
    ran = run("index", mixed, "--to", tmp_path / "x.ast", *WORDS, "--json")
    (found,) = ran.lines()
    assert (found["files"]["read"], sum(found["files"]["skipped"].values())) == (4, 2)
    assert {one["file"] for one in found["files"]["skipped_files"]} == {"mixed/paper.pdf", "mixed/data.bin"}


def test_strict_names_all_bad_files_and_makes_nothing(notes: Path, tmp_path: Path) -> None:
    os.mkfifo(notes / "fifo.md")
    ran = run("index", notes, "--to", tmp_path / "x.ast", *WORDS, "--strict")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[:2] == ["notes/broken.md: a link to nothing", "notes/fifo.md: it is a fifo"]
    assert not (tmp_path / "x.ast").exists()


def test_documents_and_folders_together(index: Path, notes: Path, tmp_path: Path) -> None:
    more = tmp_path / "more"
    more.mkdir()
    (more / "c.md").write_text("more text")
    ran = run("add", index, jsonl(tmp_path / "x.jsonl", [{"_id": "x", "text": "text"}]), more, "--json")
    assert ran.code == 0
    assert (ran.lines()[0]["added"], ran.lines()[0]["files"]["read"]) == (2, 1)
    assert set(ids(index)) == {"notes/a.md#1", "notes/b.txt#1", "x", "more/c.md#1"}
    assert run("add", index, more, "--json").lines()[0]["files"]["unchanged"] == 1


def test_add_counts_passages_that_leave(index: Path, notes: Path) -> None:
    (notes / "a.md").write_text("\n\n".join(f"## Part {i}\n\n" + "The fox jumps over dogs. " * 30 for i in range(5)))
    assert run("add", index, notes, "-q").code == 0
    assert len(ids(index)) == 6
    (notes / "a.md").write_text("A fox.")
    (notes / "b.txt").unlink()
    (found,) = run("add", index, notes, "--json").lines()
    assert [found[name] for name in ("added", "replaced", "removed", "documents")] == [0, 1, 5, 1]


def test_remove(index: Path, notes: Path) -> None:
    away = notes.rename(notes.parent / "away")
    ran = run("sync", index, notes)
    assert ran.code == 2
    assert "--remove" in ran.err
    assert run("sync", index, notes, "--remove", "--json").lines()[0]["removed"] == 2
    assert ids(index) == []
    assert run("sync", index, away, "--json").lines()[0]["read"] == 2


@pytest.mark.parametrize(
    "options",
    [
        ["--remove"],
        ["notes", "--remove", "--watch"],
        ["notes", "--remove", "--include", "*.md"],
        ["notes", "--remove", "--strict"],
        ["--watch", "--dry-run"],
        ["--chunk-tokens", "1"],
    ],
)
def test_wrong_use(index: Path, options: list[str]) -> None:
    before = ids(index)
    ran = run("sync", index, *options)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ids(index) == before


def test_include_exclude_and_chunks(notes: Path, tmp_path: Path) -> None:
    (notes / "long.txt").write_text("A sentence of some words about a fox. " * 40)
    options = ("--include", "*.txt", "--exclude", "b*", "--chunk-tokens", 50, "--overlap", 10)
    assert run("index", notes, "--to", tmp_path / "x.ast", *WORDS, "-q", *options).code == 0
    assert len(ids(tmp_path / "x.ast")) > 3
    assert {id.partition("#")[0] for id in ids(tmp_path / "x.ast")} == {"notes/long.txt"}
    assert run("sync", tmp_path / "x.ast", "--json").lines()[0]["unchanged"] == 1


def test_search_shows_the_place_in_a_file_that_says_so(index: Path, notes: Path) -> None:
    text = "\n\n".join(f"## Part {i}\n\n" + f"Animal{i} is one of many animals here. " * 12 for i in range(6))
    (notes / "long.md").write_text(text)
    assert run("sync", index, "-q").code == 0
    ran = run("search", index, "animal4", "-k", 1)
    *_, source = ran.out.strip().split("\t")
    file, _, lines = source.partition(":")
    first, _, last = lines.partition("–")
    shown = text.split("\n")[int(first) - 1 : int(last or first)]
    assert file == "notes/long.md"
    assert "Animal4" in "\n".join(shown)
    code, screen = on_terminal("search", index, "animal4", "-k", 1)
    assert (code, source in screen) == (0, True)


def test_group_by_file_and_fold(index: Path, notes: Path) -> None:
    for name in ("x", "y"):
        parts = [f"## Part {i}\n\n" + f"A heron number{i} stands in the water of {name}. " * 12 for i in range(5)]
        (notes / f"{name}.md").write_text("\n\n".join(parts))
    (notes / "z.txt").write_text("A heron.")
    (notes / "same.txt").write_text("A heron.")
    assert run("sync", index, "-q").code == 0
    plain = run("search", index, "heron", "-k", 5, "--json").lines()
    grouped = run("search", index, "heron", "-k", 4, "--group-by", "file", "--json").lines()
    assert len({hit["metadata"]["file"] for hit in plain}) < 5
    assert len({hit["metadata"]["file"] for hit in grouped}) == len(grouped) == 4
    assert [hit["rank"] for hit in grouped] == [1, 2, 3, 4]
    folded = run("search", index, "heron", "-k", 20, "--fold", "--json").lines()
    assert len({hit["text"] for hit in folded}) == len(folded)
    assert sum(hit["text"] == "A heron." for hit in folded) == 1


@contextmanager
def watching(index: Path, *options: str) -> Iterator[Any]:
    """The process of `sync --watch --json` after its first sync; Ctrl-C must end it without a fault."""
    process = subprocess.Popen(
        [COMMAND, "sync", str(index), *options, "--watch", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )
    try:
        json.loads(process.stdout.readline())
        yield process
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert errors.endswith("asterism: stopped\n")


def test_watch_follows_changes_until_ctrl_c(index: Path, notes: Path) -> None:
    with watching(index, str(notes)) as process:
        (notes / "new.md").write_text("A new heron.")
        assert json.loads(process.stdout.readline())["read"] == 1
        (notes / "b.txt").unlink()
        assert json.loads(process.stdout.readline())["removed"] == 1
    assert set(ids(index)) == {"notes/a.md#1", "notes/new.md#1"}
    assert run("check", index, "-q").code == 0


def test_watch_follows_a_link(tmp_path: Path) -> None:
    for name in ("r1", "r2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(f"A heron of {name}.")
    (tmp_path / "current").symlink_to("r1")
    assert run("index", tmp_path / "current", "--to", tmp_path / "r1" / "x.ast", *WORDS, "-q").code == 0
    with watching(tmp_path / "r1" / "x.ast") as process:
        (tmp_path / "r1" / "b.md").write_text("A new heron.")  # beside the index, whose own changes are none
        assert json.loads(process.stdout.readline())["read"] == 1
        (tmp_path / "new").symlink_to("r2")
        (tmp_path / "new").rename(tmp_path / "current")
        found = json.loads(process.stdout.readline())
        assert [found[name] for name in ("replaced", "removed", "moved")] == [1, 1, []]
        (tmp_path / "r2" / "c.md").write_text("Another heron.")
        assert json.loads(process.stdout.readline())["read"] == 1


def test_watch_outlives_what_passes(index: Path, notes: Path) -> None:
    """A folder that is empty, away or replaced, and another writer."""
    with watching(index, "--wait", "0.1") as process:
        assert "watching" in process.stderr.readline()
        shutil.rmtree(notes)
        assert "does not exist" in process.stderr.readline()
        away = notes.with_name("away")
        away.mkdir()
        (away / "new.md").write_text("A new heron.")
        away.rename(notes)
        assert json.loads(process.stdout.readline())["removed"] == 2
        (notes / "new.md").unlink()
        assert "is empty, but the index has files of it" in process.stderr.readline()
        with Retriever.open(index) as other, other.collection.writing():
            (notes / "new.md").write_text("A newer heron.")
            assert "asterism: " in process.stderr.readline()
        assert json.loads(process.stdout.readline())["replaced"] == 1


def test_ctrl_c_leaves_a_whole_index_that_goes_on(index: Path, notes: Path) -> None:
    for i in range(400):
        (notes / f"{i}.md").write_text(f"Number {i}. " + "Some words about herons. " * 200)
    process = subprocess.Popen(
        [COMMAND, "sync", str(index), "-q"],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    before = len(ids(index))
    while process.poll() is None and len(ids(index)) == before:
        pass  # until the first commit
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "asterism: stopped\n")
    assert run("check", index, "-q").code == 0
    assert before < len(ids(index))
    run("sync", index, "-q")
    assert {id.partition("#")[0] for id in ids(index)} == {f"notes/{path.name}" for path in notes.iterdir()} - {
        "notes/broken.md"
    }
