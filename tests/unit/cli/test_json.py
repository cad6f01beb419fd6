"""What --json prints: the keys of docs/json.md and values as in the schema, for every command that has the option."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.main import get_command

from asterism.cli.application import app
from tests.unit.cli.running import CORPUS, jsonl, run
from tests.unit.results.conftest import Validate

PAGE = Path(__file__).parents[3] / "docs" / "json.md"
QUERIES = 10


def listed_keys() -> dict[str, list[str]]:
    """Command -> keys, from the table of the page."""
    table = PAGE.read_text(encoding="utf-8").split("## Other commands")[1].split("## ")[0]
    rows = re.findall(r"^\| `([\w-]+)` \| (.*) \|$", table, re.MULTILINE)
    return {name: re.findall(r"`([^`]+)`", keys) for name, keys in rows}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "beir"
    jsonl(folder / "queries.jsonl", [{"_id": f"q{i}", "text": "quick fox"} for i in range(QUERIES)])
    (folder / "qrels").mkdir()
    rows = [f"q{i}\tfox\t1\n" for i in range(QUERIES)]
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows), encoding="utf-8")
    return folder


def test_the_page_lists_every_command_with_json() -> None:
    commands = get_command(app).commands.items()
    with_json = {name for name, command in commands if any("--json" in one.opts for one in command.params)}
    assert listed_keys().keys() == with_json - {"search"}


@pytest.mark.parametrize("name", [name for name in listed_keys() if name != "train"])  # see tests/training
def test_keys(name: str, folder: Path, model: Path, data: Path, tmp_path: Path, validate: Validate) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "fox.md").write_text("# The fox\n\nThe quick fox.", encoding="utf-8")
    (notes / ".hidden").touch()
    arguments: dict[str, list[object]] = {
        "index": [jsonl(tmp_path / "new.jsonl", CORPUS), "--to", tmp_path / "new.ast", "--model", model],
        "add": [folder, jsonl(tmp_path / "more.jsonl", [{"_id": "new", "text": "read a file"}])],
        "sync": [folder, notes],
        "delete": [folder, "fox"],
        "set-metadata": [folder, '{"year": 1849}', "light"],
        "list": [folder, "--offset", 1],
        "get": [folder, "light"],
        "export": [folder, "--to", tmp_path / "all.jsonl"],
        "backup": [folder, tmp_path / "copy.ast"],
        "evaluate": [folder, "--data", data, "--methods", "exact,lexical"],
        "tune": [folder, "--data", data, "--split", "test"],
        "models": [],
    }
    ran = run(name, *arguments.get(name, [folder]), "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.lines()
    for line in ran.lines():
        assert list(line) == listed_keys()[name]
        validate(f"command-{name}", line)


def test_an_error_is_a_plain_line(made: Path) -> None:
    """On stderr, with --json too."""
    ran = run("search", made, "fox", "--method", "bm25", "--json")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith("asterism: method is 'bm25'")
