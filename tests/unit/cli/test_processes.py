"""Pipes, terminals and signals: the command in a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from asterism import Retriever
from asterism.cli import application, main
from tests.unit.cli.running import COMMAND, CORPUS, beir, environment, ids, jsonl, on_terminal, run


def test_a_piped_process(made: Path) -> None:
    done = subprocess.run([COMMAND, "search", made, "quick fox", "--json"], capture_output=True, env=environment())
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == run("search", made, "quick fox", "--json").out
    wrong = subprocess.run([COMMAND, "search", made, b"\xff"], capture_output=True, env=environment())
    assert (wrong.returncode, wrong.stdout, wrong.stderr.count(b"\n")) == (2, b"", 1)


def test_a_reader_that_stops_early(made: Path) -> None:
    process = subprocess.Popen([COMMAND, "info", made], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) in (0, -signal.SIGPIPE)


def test_an_output_that_cannot_be_written(made: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([COMMAND, "search", made, "fox", "--json"], stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
    assert b"No space left" in done.stderr


def test_documents_do_not_command_the_terminal(model: Path, tmp_path: Path) -> None:
    wild = jsonl(
        tmp_path / "x.jsonl", [{"_id": "a", "title": "t\x1b]0;x\x07", "text": "quick \x1b[31m [/red] fox \x9b2J"}]
    )
    assert run("index", wild, "--to", tmp_path / "x.ast", "--model", model).code == 0
    for options in ((), ("--explain",)):
        shown = run("search", tmp_path / "x.ast", "quick fox", *options).out
        assert not set(shown) & {chr(code) for code in (*range(9), *range(11, 32), *range(127, 160))}
        assert "␛]0;x␇" in shown


def test_a_query_that_the_model_cannot_read(minilm: Path, tmp_path: Path) -> None:
    texts = jsonl(tmp_path / "x.jsonl", [{"_id": "a", "text": "the speed of light"}])
    assert run("index", texts, "--to", tmp_path / "x.ast").code == 0
    assert "can read only 0% of the query" in run("search", tmp_path / "x.ast", "ความเร็วแสง").err
    assert run("search", tmp_path / "x.ast", "light").err == ""


def test_an_empty_folder_is_as_good_as_none(model: Path, tmp_path: Path) -> None:
    (tmp_path / "x.ast").mkdir()
    assert run("index", *beir(tmp_path), "--to", tmp_path / "x.ast", "--model", model).code == 0


def test_documents_without_words_are_no_answers(model: Path, tmp_path: Path) -> None:
    texts = jsonl(tmp_path / "x.jsonl", [{"_id": "a", "text": ""}, {"_id": "b", "text": "fox"}])
    assert run("index", texts, "--to", tmp_path / "x.ast", "--model", model).code == 0
    assert all(line["score"] is not None for line in run("search", tmp_path / "x.ast", "fox", "--json").lines())


def test_on_a_terminal(made: Path, model: Path, tmp_path: Path) -> None:
    code, shown = on_terminal("index", *beir(tmp_path), "--to", tmp_path / "x.ast", "--model", model)
    assert code == 0
    assert "indexing" in shown
    assert "3/3" in shown
    code, shown = on_terminal("search", made, "quick fox", "--explain")
    assert code == 0
    assert "\x1b[" in shown
    for word in ("answered by", "similarity", "documents in"):
        assert word in shown
    code, shown = on_terminal("info", made)
    assert code == 0
    assert "\t" not in shown
    assert "documents" in shown


def test_ctrl_c_while_waiting_for_stdin(made: Path) -> None:
    """130 and one line, wherever it comes."""
    process = subprocess.Popen(
        [COMMAND, "search", made, "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdin is not None
    process.stdin.write(b"x" * 200_000)  # more than a pipe holds: it is reading when this returns
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"asterism: stopped\n")


def test_ctrl_c_anywhere(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("asterism.retriever.retriever.Retriever.open", interrupted)
    assert run("info", made) == (130, "", "asterism: stopped\n")
    monkeypatch.setattr(application, "run", interrupted)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130


@pytest.fixture
def long_work(model: Path, tmp_path: Path) -> Iterator[tuple[list[str], Path, subprocess.Popen[str]]]:
    """A command that indexes four batches, when the first is there."""
    to = tmp_path / "x.ast"
    content = jsonl(tmp_path / "long.jsonl", [{"_id": f"d{i}", "text": f"the fox {i}"} for i in range(4000)])
    arguments = ["index", str(content), "--to", str(to), "--model", str(model)]
    process = subprocess.Popen(
        [COMMAND, *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )
    deadline = time.monotonic() + 60
    while not list(to.glob("segment-*/segment.json")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    yield arguments, to, process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_index_goes_on(long_work: Any, number: signal.Signals) -> None:
    arguments, to, process = long_work
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert "documents are in" in err.splitlines()[-2]
        assert err.splitlines()[-1] == "asterism: stopped"
        assert "Traceback" not in err
    with Retriever.open(to) as opened:
        opened.check()
        there = len(opened)
        assert there % 256 == 0
        assert there < 4000
        assert opened.info()["unfinished"]
    assert run(*arguments, "--quiet") == (0, "", "")
    assert sorted(ids(to)) == sorted(f"d{i}" for i in range(4000))
    assert run(*arguments).code == 2


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(closed: str, model: Path, tmp_path: Path) -> None:
    """What a library prints must not go into the file that got the stream's number."""
    source = jsonl(tmp_path / "x.jsonl", [{"_id": "a", "text": "quick fox"}])
    to = tmp_path / "x.ast"
    for arguments in (
        f"index {source} --to {to} --model {model}",
        f"search {to} fox",
        f"info {to} --json",
        f"check {to}",
    ):
        done = subprocess.run(["sh", "-c", f"{COMMAND} {arguments} {closed}"], capture_output=True, env=environment())
        assert done.returncode == 0
        assert b"Traceback" not in done.stderr


def test_two_at_once_count_what_they_did(tmp_path: Path) -> None:
    """Each adds 60 documents, of which the other has 30 too."""
    folder = tmp_path / "x.ast"
    assert run("index", jsonl(tmp_path / "0.jsonl", CORPUS), "--to", folder, "--views", "lexical").code == 0
    files = [
        jsonl(tmp_path / f"{first}.jsonl", [{"_id": f"d{i}", "text": f"fox {i}"} for i in range(first, first + 60)])
        for first in (0, 30)
    ]
    command = [COMMAND, "add", str(folder), "--update", "--wait", "60", "--json"]
    started = [
        subprocess.Popen([*command, str(file)], stdout=subprocess.PIPE, env=environment(), text=True) for file in files
    ]
    done = [json.loads(process.communicate(timeout=60)[0]) for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert sorted((one["added"], one["replaced"], one["skipped"]) for one in done) == [(30, 30, 0), (60, 0, 0)]
    assert len(ids(folder)) == 93
