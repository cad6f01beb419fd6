"""The commands models and pull."""

from __future__ import annotations

import json
import subprocess
import sys

from asterism.models import registry


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from asterism.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_command_models() -> None:
    listed = run("models", "--json")
    assert listed.returncode == 0
    assert [json.loads(line)["name"] for line in listed.stdout.splitlines()] == list(registry.MODELS)
    shown = run("models").stdout
    assert "all-MiniLM-L6-v2 (default)" in shown
    assert all(name in shown for name in registry.MODELS)
    assert "pull" in run().stdout + run().stderr
    assert "asterism: " not in run().stderr


def test_command_errors() -> None:
    wrong = run("pull", "gte-smal")
    assert wrong.returncode == 2
    assert wrong.stdout == ""
    assert wrong.stderr == (
        "asterism: 'gte-smal' is neither a folder, nor a known model, nor an id of the hub (owner/name): "
        "did you mean 'gte-small'?\n"
    )
    for arguments in (["pull"], ["nonsense"], ["models", "--nonsense"]):
        wrong = run(*arguments)
        assert wrong.returncode == 2
        assert len(wrong.stderr.splitlines()) == 1
        assert wrong.stderr.startswith("asterism: ")
    assert run("--version").stdout.strip() == "0.1.0"
