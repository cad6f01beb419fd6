"""docs/command_line.md is what the commands say of themselves."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from asterism.cli.application import app

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "scripts" / "command_line_docs.py"
DOCUMENT = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
ADVICE = "docs/command_line.md is not up to date: run python scripts/command_line_docs.py"


def sections() -> dict[str, str]:
    parts = re.split(r"^## (asterism.*)$", DOCUMENT, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def find_commands(group: Any, before: str = "") -> dict[str, Any]:
    """All commands by name; those of a group follow it."""
    found = {}
    for name, command in group.commands.items():
        found[before + name] = command
        found |= find_commands(command, f"{before}{name} ") if hasattr(command, "commands") else {}
    return found


def test_up_to_date() -> None:
    """In a process of its own, as on a narrow terminal in colours: what decides must be the script alone."""
    if f"(typer {version('typer')})" not in DOCUMENT:
        pytest.skip(f"the document was made with another typer than {version('typer')}, which words --help otherwise")
    environment = {**os.environ, "COLUMNS": "40", "FORCE_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--check"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr or ADVICE


def test_every_command_and_option_is_there() -> None:
    """Whatever typer's layout."""
    commands = find_commands(get_command(app))
    assert list(sections()) == ["asterism", *(f"asterism {name}" for name in commands)], ADVICE
    for name, command in commands.items():
        words = " ".join(sections()[f"asterism {name}"].split())
        assert " ".join(command.help.split()) in words, ADVICE
        for parameter in command.params:
            for option in parameter.opts if parameter.param_type_name == "option" else []:
                assert option in words, f"{option} of {name}: {ADVICE}"
            assert " ".join((parameter.help or "").split()) in words, f"{parameter.name} of {name}: {ADVICE}"
