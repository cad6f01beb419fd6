"""The command as people use it: mostly in this process, where it matters in one of its own."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from asterism import Retriever
from asterism.cli import application

COMMAND = str(Path(sys.executable).with_name("asterism"))
CORPUS = [
    {"_id": "fox", "title": "", "text": "The quick brown fox jumps over the lazy dog.", "metadata": {"year": 1999}},
    {"_id": "light", "title": "Speed", "text": "Who first measured the speed of light?", "metadata": {"year": 2001}},
    {"_id": "python", "title": "Python", "text": "Run a function every few seconds.", "year": 2020},
]
IDS = {"fox", "light", "python"}


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    def lines(self) -> list[dict[str, Any]]:
        """What --json printed."""
        return [json.loads(line) for line in self.out.splitlines()]


def run(*arguments: object, stdin: bytes = b"") -> Ran:
    """The command in this process, piped."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["asterism", *map(str, arguments)])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        code = application.run()
    return Ran(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def jsonl(path: Path, records: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def beir(folder: Path) -> list[object]:
    return [jsonl(folder / "beir" / "corpus.jsonl", CORPUS).parent]


def ids(folder: Path) -> list[str]:
    with Retriever.open(folder) as opened:
        return [document.id for document in opened]


def environment() -> dict[str, str]:
    return {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "PYTHONWARNINGS": "error"}


def on_terminal(*arguments: object) -> tuple[int, str]:
    """The command on a pseudo-terminal, which is its stdin, stdout and stderr."""
    ours, its = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, *map(str, arguments)], stdin=its, stdout=its, stderr=its, env=environment(), start_new_session=True
    )
    os.close(its)
    shown = b""
    try:
        while block := os.read(ours, 65536):
            shown += block
    except OSError:  # Linux: nobody writes any more
        pass
    os.close(ours)
    return process.wait(60), shown.decode()
