"""Inputs that are no ordinary files: read if that can end well, otherwise refused in one line, and never waited for."""

from __future__ import annotations

import gzip
import os
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from asterism.files import bounded_lines, regular_files
from tests.unit.cli.running import COMMAND, CORPUS, IDS, environment, ids, jsonl, run
from tests.unit.cli.test_bad_documents import GOOD, assert_refused


def fifo(path: Path) -> None:
    os.mkfifo(path)


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        here = Path.cwd()
        os.chdir(path.parent)  # the name of a socket is at most 108 characters long
        try:
            made.bind(path.name)
        finally:
            os.chdir(here)


KINDS: dict[str, tuple[Callable[[Path], None], str]] = {
    "a fifo without a writer": (fifo, "cannot be read .no program writes to this fifo"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "is a device, expected a .jsonl"),
    "a socket": (listening, "is a socket, expected a .jsonl"),
    "a link to nothing": (lambda path: path.symlink_to("nowhere"), "is a broken link, expected a .jsonl"),
    "a link to itself": (lambda path: path.symlink_to(path.name), "cannot be read .Too many levels of symbolic links"),
    "a folder": (lambda path: path.mkdir(), "no file that can be read, expected at least one"),
}


@pytest.fixture(autouse=True)
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regular_files, "PATIENCE", 0.2)


@pytest.mark.parametrize("suffix", [".jsonl", ".tsv", ".txt", ".jsonl.gz"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_regular_file(kind: str, suffix: str, made: Path, model: Path, tmp_path: Path) -> None:
    make, message = KINDS[kind]
    odd = tmp_path / f"x{suffix}"
    make(odd)
    assert_refused(run("index", odd, "--to", tmp_path / "y.ast", "--model", model), message)
    assert_refused(run("add", made, odd), message)
    assert not (tmp_path / "y.ast").exists()


def test_a_name_that_is_too_long(made: Path) -> None:
    ran = run("add", made, f"{'x' * 5000}.jsonl")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "cannot be read (File name too long)" in ran.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_an_unreadable_file(made: Path, tmp_path: Path) -> None:
    secret = jsonl(tmp_path / "folder" / "x.jsonl", CORPUS)
    secret.chmod(0)
    assert_refused(run("add", made, secret), r"x\.jsonl:1: cannot be read .Permission denied")
    secret.parent.chmod(0)
    assert_refused(run("add", made, secret), "cannot be read .Permission denied")
    secret.parent.chmod(0o700)


@pytest.mark.parametrize("name", ["corpus.jsonl", "corpus.jsonl.gz"])
@pytest.mark.parametrize("kind", ["a fifo without a writer", "a socket", "a link to nothing", "a folder"])
def test_a_beir_folder_whose_corpus_is_no_file(kind: str, name: str, made: Path, tmp_path: Path) -> None:
    """The texts beside it are not what was meant."""
    (tmp_path / "README.md").write_text("about")
    (tmp_path / "qrels").mkdir()
    KINDS[kind][0](tmp_path / name)
    assert_refused(run("add", made, tmp_path), rf"{name}:1: cannot be read")


def test_special_files_among_texts_are_left_alone(folder: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.txt").write_text("text")
    fifo(notes / "b.txt")
    listening(notes / "c.txt")
    (notes / "d.txt").symlink_to("/dev/zero")
    (notes / "e.txt").mkdir()
    (notes / "f.md").symlink_to(notes)
    (notes / "g.txt").symlink_to("nowhere")
    ran = run("add", folder, notes, "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.lines()[0]["files"]["skipped"] == {"inner link": 1, "outer link": 1, "broken link": 1, "special file": 2}
    assert ids(folder)[-1] == "notes/a.txt#1"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x", b"".join(b'{"_id": "%s", "text": "a"}\n' % id.encode() for id in sorted(IDS))),
        ("x.tsv", b"".join(b"%s\ta\n" % id.encode() for id in sorted(IDS))),
        (
            "x.jsonl.gz",
            gzip.compress(b"".join(b'{"_id": "%s", "text": "a"}\n' % id.encode() for id in sorted(IDS)), mtime=0),
        ),
    ],
    ids=["jsonl", "tsv", "gz"],  # not the bytes, which a clock could change from one worker to the next
)
def test_a_fifo_with_a_writer(name: str, content: bytes, model: Path, tmp_path: Path) -> None:
    """It can be read once, and the input is read twice."""
    fifo(tmp_path / name)
    writer = threading.Thread(target=(tmp_path / name).write_bytes, args=(content,))
    writer.start()
    assert run("index", tmp_path / name, "--to", tmp_path / "x.ast", "--model", model).code == 0
    writer.join(60)
    assert set(ids(tmp_path / "x.ast")) == IDS


def test_the_place_of_an_error_in_a_fifo(made: Path, tmp_path: Path) -> None:
    fifo(tmp_path / "x")
    writer = threading.Thread(target=(tmp_path / "x").write_bytes, args=(GOOD + b"nonsense\n",))
    writer.start()
    assert_refused(run("add", made, tmp_path / "x"), rf"{tmp_path}/x:2: not JSON")
    writer.join(60)


def test_process_substitution(model: Path, tmp_path: Path) -> None:
    source, to = jsonl(tmp_path / "x.jsonl", CORPUS), tmp_path / "x.ast"
    slow = f"head -n 1 {source}; sleep 0.3; tail -n +2 {source}"
    for command in (
        f"{COMMAND} index <({slow}) --to {to} --model {model}",
        f"{COMMAND} delete {to} --from <(echo fox)",
        f"echo light | {COMMAND} delete {to} --from /dev/stdin",
        f"{COMMAND} add {to} --update <(head -n 1 {source}) <(tail -n 1 {source})",
        f"head -n 2 {source} | {COMMAND} add {to} --update /dev/stdin",
        f"{COMMAND} add {to} --update /dev/stdin < {source}",
    ):
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment(), timeout=60)
        assert done.returncode == 0, done.stderr
    assert sorted(ids(to)) == sorted(IDS)


@pytest.mark.parametrize("packed", [False, True])
def test_a_line_without_end(packed: bool, made: Path, tmp_path: Path) -> None:
    """A gzip bomb of 100 kB is refused before it is in memory."""
    content = GOOD + b"x" * (bounded_lines.LONGEST_LINE + 1)
    bomb = tmp_path / "x.jsonl"
    bomb.write_bytes(gzip.compress(content, 1) if packed else content)
    message = r":2: the line has more than 67,108,864 bytes, expected at most that"
    assert_refused(run("add", made, bomb), rf"x\.jsonl{message}")
    bomb.rename(tmp_path / "x.tsv")
    assert_refused(run("delete", made, "--from", tmp_path / "x.tsv"), rf"x\.tsv{message}")


def test_a_list_of_ids_that_is_no_file(made: Path, tmp_path: Path) -> None:
    for kind in ("a device", "a socket", "a link to nothing", "a folder", "a fifo without a writer"):
        KINDS[kind][0](tmp_path / kind)
        assert_refused(run("delete", made, "--from", tmp_path / kind), "cannot be read")


def test_a_query_without_end(made: Path) -> None:
    with open("/dev/zero", "rb") as endless:
        done = subprocess.run([COMMAND, "search", made, "-"], stdin=endless, capture_output=True, env=environment())
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"asterism: stdin has more than 67,108,864 bytes, expected at most that\n"


def test_documents_without_end(model: Path, tmp_path: Path) -> None:
    """Refused before they fill the disk."""
    command = [COMMAND, "index", "-", "--to", str(tmp_path / "x.ast"), "--model", str(model)]
    with open("/dev/zero", "rb") as endless:
        done = subprocess.run(command, stdin=endless, capture_output=True, env=environment(), timeout=60)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)
    assert done.stderr.startswith(b"asterism: <stdin> has a line of more than 67,108,864 bytes")


def test_stdin_that_is_a_folder(made: Path, tmp_path: Path) -> None:
    """Python itself refuses to start."""
    folder = os.open(tmp_path, os.O_RDONLY)
    done = subprocess.run([COMMAND, "search", made, "-"], stdin=folder, capture_output=True, env=environment())
    os.close(folder)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"<stdin> is a directory, cannot continue" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["-k", "9" * 5000],
        ["-k", "1e3"],
        ["--filter", '{"n": %s}' % ("9" * 5000)],
        ["--filter", '{"n": 1e999}'],
        ["--filter", '{"n": Infinity}'],
        ["--filter", '{"n": "\\ud800"}'],
        ["--filter", '{"$not":' * 1000 + "{}" + "}" * 1000],
        ["--filter", '{"a":' * 100_000],
        ["--filter", '{"$in": ' + "[" * 500 + "]" * 500 + "}"],
        ["--filter", '{"a": {"$in": [%s0]}}' % ("[1]," * 1000)],
    ],
    ids=range(10),
)
def test_numbers_and_nesting_beyond_all_bounds(arguments: list[str], made: Path) -> None:
    assert_refused(run("search", made, "fox", *arguments), "-k|--filter|filter|deep|expected")


def test_more_documents_than_there_are(made: Path) -> None:
    every, more = (run("search", made, "fox", "-k", str(k)) for k in (1000, 10**30))
    assert every.code == more.code == 0
    assert every.out == more.out != ""


@pytest.mark.parametrize("option", ["--seed", "--most-vectors", "--bits"])
@pytest.mark.parametrize("value", [str(10**30), "-1" + "0" * 30, "9" * 5000])
def test_numbers_of_an_index_beyond_all_bounds(option: str, value: str, model: Path, tmp_path: Path) -> None:
    source = jsonl(tmp_path / "x.jsonl", CORPUS)
    ran = run("index", source, "--to", tmp_path / "x.ast", "--model", model, option, value)
    assert_refused(ran, "expected|as an integer")
    assert not (tmp_path / "x.ast").exists()


def test_a_run_is_not_written_over_a_device(made: Path, tmp_path: Path) -> None:
    """Renaming would replace it."""
    jsonl(tmp_path / "queries.jsonl", [{"_id": "q", "text": "fox"}])
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\tfox\t1\n")
    fifo(tmp_path / "x.run")
    arguments = ("evaluate", made, "--data", tmp_path, "--methods", "exact", "--run", tmp_path / "x.run")
    ran = run(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "x.run cannot be written (it is not a regular file): choose another path" in ran.err
    assert (tmp_path / "x.run").is_fifo()
