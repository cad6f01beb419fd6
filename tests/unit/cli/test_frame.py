"""Models, the demo, help, wrong usage."""

from __future__ import annotations

from pathlib import Path

import pytest

import asterism
from asterism import Document
from asterism.cli.demo import QUESTIONS
from tests.unit.cli.running import run


def test_models_and_pull(minilm: Path) -> None:
    data, plain = run("models", "--json").lines(), run("models").out.splitlines()
    assert len(data) == len(plain) > 5
    assert [line["name"] for line in data if line["default"]] == ["all-MiniLM-L6-v2"]
    assert all(line.count("\t") == 3 for line in plain)
    assert run("pull", "all-MiniLM-L6-v2").out == f"{minilm}\n"
    ran = run("pull", "all-MiniLM")
    assert (ran.code, ran.out) == (2, "")
    assert "did you mean 'all-MiniLM-L6-v2'?" in ran.err


def test_demo(minilm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a few of the docstrings."""
    few = [
        Document("sched.scheduler", "Run functions at given times.", metadata={"kind": "class"}),
        Document("bisect.insort", "Insert item x in list a, and keep it sorted.", metadata={"kind": "function"}),
        Document("shutil.copytree", "Recursively copy a directory tree.", metadata={"kind": "function"}),
    ]
    monkeypatch.setattr("asterism.documents.stdlib_docstrings.read_stdlib_documents", lambda: iter(few))
    to = tmp_path / "stdlib.ast"
    ran = run("demo", "--to", to)
    assert ran.code == 0
    assert "3 docstrings" in ran.out
    for question in QUESTIONS:
        assert question in ran.out
    assert f"asterism search {to}" in ran.out.replace("\n", "")
    assert "exists already: 3 documents" in " ".join(run("demo", "--to", to).out.split())


def test_version_and_help() -> None:
    assert run("--version") == (0, f"{asterism.__version__}\n", "")
    ran = run("--help")
    assert (ran.code, ran.err) == (0, "")
    for command in ("index", "add", "delete", "search", "evaluate", "info", "check", "compact", "pull", "demo"):
        assert command in ran.out
        assert run(command, "--help").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["search"], "Missing argument 'DIR'"),
        (["index", "x.jsonl"], "Missing option '--to'"),
        (["search", "x", "y", "-k", "many"], "Invalid value for '-k'"),
        (["search", "x", "y", "--nonsense"], "No such option: --nonsense"),
        (["index", "x.jsonl", "--to", "y", "--bits", "3"], "bits is 3, expected one of 1, 2, 4"),
        (["index", "x.jsonl", "--to", "y", "--precision", "int4"], "precision is 'int4'"),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], message: str) -> None:
    ran = run(*arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith("asterism: ")
    assert message in ran.err
