"""Hostile text wherever text can be, through every command: nothing of it commands or deceives the terminal."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.cli.running import COMMAND, environment, jsonl, on_terminal, run
from tests.unit.cli.test_output import OSC, WILD, is_safe


@pytest.fixture(scope="module")
def wild(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index whose path, model, ids, titles, texts and metadata are hostile."""
    folder = tmp_path_factory.mktemp("wild") / f"[/bold]{OSC}\u202e"
    folder.mkdir(parents=True)
    named = folder / f"model {OSC}\u2066[/red]"
    shutil.copytree(model, named)
    record = {"_id": "a\u202eb\x85[/x]", "title": f"t{WILD}", "text": f"quick {WILD} fox", "metadata": {WILD: WILD}}
    assert run("index", jsonl(folder / "x.jsonl", [record]), "--to", folder / "x.ast", "--model", named).code == 0
    return folder / "x.ast"


COMMANDS = [
    ["info"],
    ["info", "--json"],
    ["check"],
    ["check", "--json"],
    ["compact"],
    ["delete", f"{OSC}\u202e"],
    ["delete", "--filter", json.dumps({WILD: WILD}), "--dry-run"],
    ["set-metadata", WILD, WILD],
    ["set-metadata", json.dumps({WILD: WILD}), WILD],
    ["set-metadata", json.dumps({f"{WILD}2": WILD}), "--filter", "{}"],
    ["list"],
    ["list", "--json"],
    ["get", "a\u202eb\x85[/x]"],
    ["get", "a\u202eb\x85[/x]", "--json"],
    ["get", WILD],
    ["export", "--to", WILD],
    ["search", "fox", "--also", WILD],
    ["search", "quick fox"],
    ["search", "quick fox", "--json"],
    ["search", f"quick {WILD} fox", "--explain"],
    ["search", f"quick {WILD} fox", "--explain", "--json"],
    ["search", "fox", "--filter", WILD],
    ["search", "fox", "--filter", json.dumps({WILD: {WILD: 1}})],
    ["search", "fox", "--method", WILD],
    ["search", "fox", "--model", WILD],
    ["search", "fox", f"--{WILD}"],
    ["add", WILD],
    ["evaluate", "--data", WILD],
]


@pytest.mark.parametrize("command", COMMANDS, ids=range(len(COMMANDS)))
def test_no_command_lets_text_command_the_terminal(command: list[str], wild: Path) -> None:
    ran = run(command[0], wild, *command[1:])
    assert is_safe(ran.out)
    assert is_safe(ran.err)
    assert ran.code in (0, 2)
    assert ran.err.count("\n") <= 1


def test_a_stored_model_name_is_shown_as_it_is(wild: Path) -> None:
    shown = dict(line.split("\t") for line in run("info", wild).out.splitlines())
    data = run("info", wild, "--json").lines()[0]
    assert OSC in data["model"]
    assert "␛]0;owned␇" in shown["model"]
    assert "[/bold]" in shown["path"]


def test_usage_errors_are_safe_too() -> None:
    for arguments in ([WILD], ["pull", WILD], ["index", WILD], ["search", "x", "y", "-k", WILD]):
        ran = run(*arguments)
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert is_safe(ran.err)


@pytest.mark.parametrize("command", [["info"], ["search", "quick fox"], ["search", "quick fox", "--explain"]])
def test_a_terminal_gets_the_console_s_own_commands_alone(command: list[str], wild: Path) -> None:
    code, shown = on_terminal(command[0], wild, *command[1:])
    assert code == 0
    assert "\x1b]" not in shown  # colours are \x1b[
    assert is_safe(shown.replace("\x1b[", "").replace("\r", ""))


def test_a_traceback_is_safe(monkeypatch: pytest.MonkeyPatch, made: Path) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise TypeError(WILD)

    monkeypatch.setattr("asterism.retriever.retriever.Retriever.open", broken)
    ran = run("info", made)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("Traceback")
    assert "TypeError: ␛]0;owned␇" in ran.err
    assert is_safe(ran.err)


def test_out_of_memory_is_one_line(monkeypatch: pytest.MonkeyPatch, made: Path) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise MemoryError

    monkeypatch.setattr("asterism.retriever.retriever.Retriever.open", broken)
    ran = run("info", made)
    assert ran == (1, "", "asterism: there is not enough memory for this: give it less at once\n")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_an_output_that_lacks_characters(encoding: str, model: Path, tmp_path: Path) -> None:
    """Another locale is no reason to fail; JSON stays JSON."""
    text = "größer 日本語 fox"
    source = jsonl(tmp_path / "x.jsonl", [{"_id": "ö日", "text": text}])
    assert run("index", source, "--to", tmp_path / "x.ast", "--model", model).code == 0
    odd = {**environment(), "LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": encoding}
    for options in ([], ["--json"]):
        command = [COMMAND, "search", str(tmp_path / "x.ast"), "fox", *options]
        done = subprocess.run(command, capture_output=True, env=odd)
        assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout.decode(encoding))["text"] == text
