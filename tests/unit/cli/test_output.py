"""What reaches a terminal: nothing that commands or deceives it, whoever wrote it and whichever way it goes."""

from __future__ import annotations

import ast
import io
import json
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism.cli import application
from asterism.cli.output import make_console, make_one_line, make_visible, print_error, print_json, print_row

CLI = Path(application.__file__).parent
JOINERS = "\u200c\u200d"
SIGNS = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"  # seen as any letter
HIEROGLYPHS = "".join(map(chr, range(0x13430, 0x13440)))
CATEGORIES = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls, format, surrogates, separators of lines and paragraphs
ORDINARY = set("\t\n" + JOINERS + SIGNS + HIEROGLYPHS)
CHARACTERS = map(chr, range(sys.maxunicode + 1))
DECEIVING = [char for char in CHARACTERS if unicodedata.category(char) in CATEGORIES and char not in ORDINARY]
OSC = "\x1b]0;owned\x07"
WILD = f"{OSC}\x9b2J\x7f\u202etxt.exe\u2066\u200e\u061c\u2028\u200b[/bold][red]:smile:"


def is_safe(shown: str) -> bool:
    return not set(shown) & set(DECEIVING)


@pytest.mark.parametrize("name", CATEGORIES)
def test_every_character_of_a_category_that_is_not_seen(name: str) -> None:
    for char in DECEIVING:
        if unicodedata.category(char) == name:
            assert len(make_visible(char)) == 1
            assert is_safe(make_visible(char)), f"U+{ord(char):04X}"


@pytest.mark.parametrize(
    "text", ["größer", "नमस्ते क्‍ष", "می‌خواهم", "👨‍👩‍👧 ❤️", "日本語", "שלום", "العربية", "a\tb\nc", "\u0604", "−½€"]
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert make_visible(text) == text


@given(st.text(st.characters() | st.sampled_from(DECEIVING)))
def test_the_length_stays(text: str) -> None:
    """Highlighting counts characters."""
    assert len(make_visible(text)) == len(make_one_line(text)) == len(text)
    assert is_safe(make_visible(text))
    assert not set(make_one_line(text)) & set("\t\n\r")


@given(st.dictionaries(st.text(), st.recursive(st.text(st.characters() | st.sampled_from(DECEIVING)), st.lists)))
def test_json_is_safe_and_the_same_after_parsing(value: dict[str, Any]) -> None:
    for encoding in ("utf-8", "ascii"):
        out = io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdout", out)
            print_json(value)
        shown = out.buffer.getvalue().decode(encoding)
        assert is_safe(shown)
        assert shown.count("\n") == 1
        assert json.loads(shown) == value


def test_json_stays_readable(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": "größer 日本語 👨‍👩‍👧", "b": "\x85\x7f\u202e\U000e0041"})
    assert capsys.readouterr().out == '{"a": "größer 日本語 👨‍👩‍👧", "b": "\\u0085\\u007f\\u202e\\udb40\\udc41"}\n'


def test_a_cell_cannot_begin_another(capsys: pytest.CaptureFixture[str]) -> None:
    print_row("a\tb", "c\nd")
    assert capsys.readouterr().out == "a␉b\tc␊d\n"


def test_an_error_is_one_line_of_a_bounded_length(capsys: pytest.CaptureFixture[str]) -> None:
    print_error("first\nsecond " + "x" * 10**6 + OSC + " and what to do")
    shown = capsys.readouterr().err
    assert shown.startswith("asterism: first␊second xxx")
    assert shown.endswith("␛]0;owned␇ and what to do\n")
    assert len(shown) < 1100


@pytest.mark.parametrize("stderr", [False, True])
def test_the_console_shows_text_as_it_is(stderr: bool, capsys: pytest.CaptureFixture[str]) -> None:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    table = Table(WILD, title=WILD)
    table.add_row(WILD)
    console = make_console(stderr=stderr)
    for shown in (WILD, Text(WILD), Padding(WILD, 1), table):
        console.print(shown, soft_wrap=True)
    captured = capsys.readouterr()
    lines = (captured.err if stderr else captured.out).splitlines()
    assert is_safe("\n".join(lines))
    assert sum("[/bold][red]:smile:" in line for line in lines) >= 4


# --- no other way out ---

PRINTING = {"print", "input", "breakpoint"}
ATTRIBUTES = {"echo", "secho", "confirm", "prompt", "launch", "write", "dumps", "excepthook"}
WAYS = {"rich", "rich.console", "rich.status", "rich.live", "rich.progress", "rich.pretty", "click", "logging"}
ALLOWED = {"output.py": PRINTING | ATTRIBUTES, "safe_console.py": {"rich.console"}, "progress.py": {"rich.progress"}}


def ways_out(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in PRINTING:
            yield node.func.id
        elif isinstance(node, ast.Attribute) and node.attr in ATTRIBUTES:
            yield node.attr
        elif isinstance(node, ast.Import):
            yield from {name.name for name in node.names} & WAYS
        elif isinstance(node, ast.ImportFrom) and node.module in WAYS and not node.level:
            yield node.module


@pytest.mark.parametrize("file", sorted(CLI.glob("*.py")), ids=lambda file: file.name)
def test_commands_print_through_one_module(file: Path) -> None:
    """cli/output.py, and the console that it gives; a new command cannot forget it."""
    others = set(ways_out(file)) - ALLOWED.get(file.name, set())
    assert not others, f"{file.name} uses {others}: print with the functions of cli/output.py"


def test_the_look_at_the_commands_sees_something(tmp_path: Path) -> None:
    source = "import typer\nfrom rich.console import Console\ntyper.echo('x')\nprint('x')\nsys.stderr.write('x')\n"
    (tmp_path / "x.py").write_text(source)
    assert sorted(ways_out(tmp_path / "x.py")) == ["echo", "print", "rich.console", "write"]
