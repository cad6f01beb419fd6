"""Which files this process opens, as Python itself reports it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_watched: list[tuple[str, list[str]]] = []


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and _watched and isinstance(arguments[0], str | bytes | os.PathLike):
        path = os.fsdecode(arguments[0])
        for root, opened in _watched:
            if path.startswith(root):
                opened.append(path)


sys.addaudithook(_note)  # a hook stays until the process ends


@contextmanager
def watch_opens(root: Path) -> Iterator[list[str]]:
    """The files under a folder that were opened in the block."""
    opened: list[str] = []
    _watched.append((str(root), opened))
    try:
        yield opened
    finally:
        _watched.clear()
