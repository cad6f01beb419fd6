"""The log of a run: a JSON object a line, one for each step."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from ..errors import TrainingError
from ..files.regular_files import stream_regular
from ..files.whole_files import stream_whole_file
from .processes import find_own_number

LOG = "log.jsonl"


def open_log(folder: Path, losses: Sequence[float]) -> TextIO:
    """The log of the steps so far, to be continued; only the first process writes it.

    `losses` are those of the checkpoint: lines of later steps go, and lines that are lost are made again of them.
    """
    if find_own_number():
        return open(os.devnull, "w", encoding="utf-8")
    file = folder / LOG
    found = _read_lines(file)
    with stream_whole_file(file) as write:
        write(_choose_line(found, step, loss) for step, loss in enumerate(losses, 1))
    return open(file, "a", encoding="utf-8")


def make_line(step: int, loss: float, rate: float | None = None, score: float | None = None) -> str:
    """What the log has of a step; steps count from 1."""
    return json.dumps({"step": step, "loss": loss, "rate": rate, "score": score}) + "\n"


def _choose_line(found: dict[int, str], step: int, loss: float) -> bytes:
    line = found.get(step)
    right = line is not None and json.loads(line).get("loss") == loss
    return (line if line is not None and right else make_line(step, loss)).encode()


def _read_lines(file: Path) -> dict[int, str]:
    """Step -> its line. A killed run can leave half a line; what is no line of a log does not count."""
    if not os.path.lexists(file):
        return {}
    found: dict[int, str] = {}
    try:
        with stream_regular(file) as stream:
            for line in stream.read().decode(errors="replace").splitlines():
                try:
                    entry = json.loads(line)
                except ValueError:
                    continue
                if isinstance(entry, dict) and isinstance(entry.get("step"), int):
                    found[entry["step"]] = line + "\n"
    except OSError as error:
        raise TrainingError(f"{file} cannot be read ({error.strerror}): remove it, its lines are made again") from error
    return found
