"""The JSON settings files of a checkpoint, and the numbers and strings in them."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import CheckpointError
from ...files.checkpoint_files import is_there, parse_bounded_json, read_file

LARGEST_FILE = 4 << 20  # bytes; a config.json with a hundred thousand labels has three million
DEEPEST = 32  # levels of nested objects and lists
LARGEST_NUMBER = 2**31 - 1


def read_settings(file: Path) -> Any:
    """The content of a JSON file, nested at most DEEPEST levels, so that a message can show it."""
    value = parse_bounded_json(file, read_file(file, LARGEST_FILE))
    level, depth = [value], 0
    while level:
        if depth > DEEPEST:
            raise CheckpointError(f"{file} is nested too deeply, expected at most {DEEPEST} levels")
        level = [inner for outer in level if isinstance(outer, dict | list) for inner in _list_values(outer)]
        depth += 1
    return value


def read_json(file: Path) -> dict[str, Any]:
    """A JSON object from a file of a checkpoint."""
    value = read_settings(file)
    if not isinstance(value, dict):
        raise CheckpointError(f"{file} has a {type(value).__name__}, expected an object")
    return value


def read_optional_json(file: Path) -> dict[str, Any]:
    """A JSON object from a file, or an empty one if there is no such file."""
    return read_json(file) if is_there(file) else {}


def read_whole(
    settings: Mapping[str, Any],
    name: str,
    file: Path,
    default: int | None = None,
    *,
    least: int = 1,
    most: int = LARGEST_NUMBER,
) -> int:
    """A whole number of `file` from `least` to `most`; `default` if it is missing or null."""
    value = settings.get(name)
    if value is None and default is not None:
        return default
    if name not in settings:
        raise CheckpointError(f"{file} has no {name!r}, expected a whole number from {least} to {most}")
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise CheckpointError(f"{file}: {name} is {shorten(value)}, expected a whole number from {least} to {most}")
    return value


def read_sizes(settings: Mapping[str, Any], sizes: Mapping[str, tuple[str, int]], file: Path) -> dict[str, int]:
    """Whole numbers by our names; `sizes` has the file's name of each, and the most that it may be."""
    return {ours: read_whole(settings, name, file, most=most) for ours, (name, most) in sizes.items()}


def read_small_number(settings: Mapping[str, Any], name: str, file: Path, default: float) -> float:
    """The ε of a norm, from 0 to 1; `default` if it is missing or null."""
    value = default if settings.get(name) is None else settings[name]
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise CheckpointError(f"{file}: {name} is {shorten(value)}, expected a number from 0 to 1")
    return float(value)


def read_strings(values: Any, name: str, file: Path) -> list[str]:
    """A list of strings."""
    if not isinstance(values, Sequence) or not all(isinstance(value, str) for value in values):
        raise CheckpointError(f"{file}: {name} is {shorten(values)}, expected a list of strings")
    return list(values)


def shorten(value: Any) -> str:
    """The beginning of a value, for a message: values from a file may be large."""
    return reprlib.repr(value)


def _list_values(outer: dict[str, Any] | list[Any]) -> Sequence[Any]:
    return list(outer.values()) if isinstance(outer, dict) else outer
