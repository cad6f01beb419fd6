"""The names that folders have in an index: the files' names, and so the ids of their passages, begin with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...documents.folders.names import escape_name

LONGEST_NAME = 150  # characters


def name_folder(path: Path, taken: Sequence[str]) -> str:
    """The shortest end of the path such that no file's name can be that of another folder's file."""
    parts = [escape_name(part) for part in path.parts[1:]] or ["root"]
    for length in range(1, len(parts) + 1):
        name = "/".join(parts[-length:])
        if len(name) > LONGEST_NAME:  # every id of the folder must begin with it
            parts[-1] = parts[-1][: LONGEST_NAME // 2]
            break
        if not any(overlap(name, other) for other in taken):
            return name
    number = 2
    while any(overlap(f"{parts[-1]}~{number}", other) for other in taken):
        number += 1
    return f"{parts[-1]}~{number}"


def overlap(first: str, second: str) -> bool:
    """Whether one is the other or the beginning of its path."""
    return f"{first}/".startswith(f"{second}/") or f"{second}/".startswith(f"{first}/")
