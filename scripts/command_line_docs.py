"""docs/command_line.md from the commands' own --help: plain text, 100 columns, the same on every terminal.

python scripts/command_line_docs.py [--check]
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from pathlib import Path

TARGET = Path(__file__).parents[1] / "docs" / "command_line.md"
WIDTH = 100
REGENERATE = "python scripts/command_line_docs.py"
INTRODUCTION = f"""<!-- Made by `{REGENERATE}` (typer {version("typer")}); do not edit. -->
# The command line

Every text below is what the command prints with `--help`.

Exit codes: 0 done; 2 wrong usage or input, in one line on stderr; 130 stopped by Ctrl-C; 1 anything else. `--json`
prints one JSON object a line on stdout and nothing else: [json.md](json.md) has the keys. Tables, colours and progress
appear on a terminal only; piped, columns are separated by tabs. Characters that could control or deceive a terminal are
shown as symbols, and escaped in JSON. `asterism --install-completion` installs completion for your shell.
"""


def command_line_docs() -> str:
    """The whole document."""
    os.environ.update(COLUMNS=str(WIDTH), TERMINAL_WIDTH=str(WIDTH), NO_COLOR="1", TERM="dumb")  # before typer looks
    from typer.main import get_command
    from typer.testing import CliRunner

    from asterism.cli.application import app

    boxes, app.rich_markup_mode = app.rich_markup_mode, None
    try:
        names = list_commands(get_command(app))
        pages = [_page(CliRunner(), app, name) for name in ["", *names]]
    finally:
        app.rich_markup_mode = boxes
    return INTRODUCTION + "".join(pages)


def list_commands(group, before: str = "") -> list[str]:
    """The names of all commands; those of a group follow its own."""
    names = []
    for name, command in group.commands.items():
        names += [before + name, *(list_commands(command, f"{before}{name} ") if hasattr(command, "commands") else [])]
    return names


def _page(runner, app, name: str) -> str:
    """One command's section; the empty name is the command without any."""
    widths = {"terminal_width": WIDTH, "max_content_width": WIDTH}
    asked = runner.invoke(app, [*name.split(), "--help"], prog_name="asterism", color=False, **widths)
    if asked.exit_code:
        raise SystemExit(f"asterism {name} --help ended with {asked.exit_code}: {asked.output}")
    text = "\n".join(line.rstrip() for line in asked.output.strip().splitlines())
    return f"\n## asterism {name}".rstrip() + f"\n\n```text\n{text}\n```\n"


def main(arguments: list[str]) -> int:
    """Write the file; with --check only say whether it is up to date."""
    wanted = command_line_docs()
    if arguments == ["--check"]:
        current = TARGET.read_text(encoding="utf-8") if TARGET.exists() else ""
        if current != wanted:
            print(f"{TARGET.name} is not up to date: run {REGENERATE}", file=sys.stderr)
            return 1
        return 0
    if arguments:
        print("usage: command_line_docs.py [--check]", file=sys.stderr)
        return 2
    TARGET.write_text(wanted, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
