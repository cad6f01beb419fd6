"""Checks of a retriever's arguments."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..errors import InputError, TextError


def check_kind(name: str, value: object, kind: Any, expected: str) -> None:
    """Refuse a value of another type."""
    if not isinstance(value, kind):
        raise InputError(f"{name} is a {type(value).__name__}, expected {expected}")


def check_path(path: object) -> None:
    """Refuse what the system can have no file of."""
    check_kind("path", path, str | os.PathLike, "a path")
    if isinstance(path, str | os.PathLike) and not _is_path(os.fspath(path)):
        raise InputError(f"path is {path!r}, expected the path of a file or folder")


def check_folders(folders: object) -> list[str | os.PathLike[str]]:
    """Refuse what is not a list of paths; one path alone is a mistake that looks like many."""
    paths = list(folders) if isinstance(folders, Iterable) and not isinstance(folders, str | bytes) else None
    if paths is None or not all(isinstance(path, str | os.PathLike) for path in paths):
        raise InputError(f"folders is {folders!r}, expected a list of paths")
    for path in paths:
        if not _is_path(os.fspath(path)):
            raise InputError(f"folders has {path!r}, expected a path such as '.'")
    return paths


def _is_path(path: str) -> bool:
    """Whether the system can have a file of this name."""
    try:
        return bool(path) and b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def check_outside(target: Path, index: Path) -> None:
    """Refuse to write into the folder of an index, where nothing but the index may be."""
    if Path(os.path.realpath(target)).is_relative_to(os.path.realpath(index)):
        raise InputError(f"{target} lies in the index {index}, expected a path outside of it: choose another")


def check_progress(progress: object) -> None:
    """Refuse a callback that cannot be called."""
    if progress is not None and not callable(progress):
        raise InputError(f"progress is {progress!r}, expected a function of a number, or None")


def is_id(id: object) -> bool:
    """Whether it is a string that can be encoded as UTF-8; half a surrogate pair cannot."""
    try:
        return isinstance(id, str) and id.encode() is not None
    except UnicodeEncodeError:
        return False


def check_id(id: object) -> None:
    """Refuse an id that no document can have."""
    if not is_id(id):
        raise InputError(f"the id is {id!r}, expected a string of valid Unicode")


def check_ids(ids: object) -> list[str]:
    """Ids as a list; refuses a single id, and ids that no document can have."""
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise InputError(f"ids is {ids!r}, expected a list of ids")
    wanted = list(ids)
    for id in wanted:
        check_id(id)
    return wanted


def check_query(query: object) -> None:
    """Refuse a query that is not a string or is empty; too long a query is cut when it is encoded."""
    if not isinstance(query, str):
        raise TextError(f"the query is a {type(query).__name__}, expected a string")
    if not query.strip():
        raise TextError("the query is empty, expected some words")
