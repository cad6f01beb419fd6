"""The log of a run: a JSON object a line, one for each step."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from ..files.whole_files import stream_whole_file
from .processes import find_own_number

LOG = "log.jsonl"


def open_log(folder: Path, start: int) -> TextIO:
    """The log without the lines of steps after `start`, to be continued; only the first process writes it."""
    if find_own_number():
        return open(os.devnull, "w", encoding="utf-8")
    file = folder / LOG
    kept = [line for line in _read_lines(file) if json.loads(line)["step"] <= start]
    with stream_whole_file(file) as write:
        write(line.encode() for line in kept)
    return open(file, "a", encoding="utf-8")


def _read_lines(file: Path) -> Iterator[str]:
    """Whole lines only: a killed run can leave half a line at the end."""
    if file.exists():
        for line in file.read_text(encoding="utf-8").splitlines(keepends=True):
            if line.endswith("\n"):
                yield line
