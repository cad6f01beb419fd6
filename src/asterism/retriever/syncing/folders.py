"""The folders that a sync is about: their real paths, their names in the index, and what is wanted of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...documents.files.chunking import Chunking
from ...documents.folders.names import escape_name, escape_path, unescape_name
from ...documents.folders.selecting import Selection
from ...errors import InputError
from .memory import KnownFolder

LONGEST_NAME = 150  # characters

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Wishes:
    """What was asked for; None: as before, or the default for a folder that is new."""

    chunking: Chunking | None = None
    include: Sequence[str] | None = None
    exclude: Sequence[str] | None = None

    def apply(self, folder: KnownFolder) -> KnownFolder:
        """The folder as it is wanted now."""
        chosen = Selection(
            folder.include if self.include is None else self.include,
            folder.exclude if self.exclude is None else self.exclude,
        )
        return replace(
            folder, chunking=self.chunking or folder.chunking, include=chosen.include, exclude=chosen.exclude
        )


@dataclass(frozen=True)
class ChosenFolder:
    """A folder to be synced: where it is, and how the index knows it."""

    path: Path
    folder: KnownFolder


def choose_folders(given: Sequence[PathLike], known: Sequence[KnownFolder], wishes: Wishes) -> list[ChosenFolder]:
    """The given folders, or all that the index has; each must be there."""
    if not given and not known:
        raise InputError("the index has no folders yet, expected some to sync: asterism sync DIR FOLDER…")
    chosen: list[ChosenFolder] = []
    everything = list(known)
    for path in dict.fromkeys(map(find_real_folder, given)) if given else [_find_known(one) for one in known]:
        shown = escape_path(path)
        folder = next((one for one in everything if one.path == shown), None)
        if folder is None:
            _refuse_nested(path, everything)
            folder = KnownFolder(name_folder(path, [one.name for one in everything]), shown)
            everything.append(folder)
        chosen.append(ChosenFolder(path, wishes.apply(folder)))
    return chosen


def find_known_folders(given: Sequence[PathLike], known: Sequence[KnownFolder]) -> list[KnownFolder]:
    """Folders that the index has, by path or by name; they need not exist any more."""
    found = []
    for one in given:
        names = {os.fspath(one), escape_path(os.path.realpath(one)), escape_path(os.path.abspath(one))}
        matching = [folder for folder in known if folder.path in names or folder.name in names]
        if not matching:
            raise InputError(f"the index has no folder {os.fspath(one)!r}, expected one of: {_list(known)}")
        found += matching
    return list(dict.fromkeys(found))


def find_real_folder(given: PathLike) -> Path:
    """The real path of an existing folder."""
    path = Path(os.path.realpath(given))
    if not path.is_dir():
        what = "is not a folder" if path.exists() else "does not exist"
        advice = "if it is gone for good, `asterism sync DIR FOLDER --remove` removes its files from the index"
        raise InputError(f"{os.fspath(given)} {what}, expected a folder: nothing was changed; {advice}")
    return path


def _find_known(folder: KnownFolder) -> Path:
    path = find_real_folder(unescape_name(folder.path))
    if escape_path(path) != folder.path:
        raise InputError(f"{folder.path} is a link now, expected a folder: give the folder that it leads to")
    return path


def name_folder(path: Path, taken: Sequence[str]) -> str:
    """The shortest end of the path such that no file's name can be that of another folder's file."""
    parts = [escape_name(part) for part in path.parts[1:]] or ["root"]
    for length in range(1, len(parts) + 1):
        name = "/".join(parts[-length:])
        if len(name) > LONGEST_NAME:  # every id of the folder must begin with it
            parts[-1] = parts[-1][: LONGEST_NAME // 2]
            break
        if not any(_overlap(name, other) for other in taken):
            return name
    number = 2
    while any(_overlap(f"{parts[-1]}~{number}", other) for other in taken):
        number += 1
    return f"{parts[-1]}~{number}"


def _overlap(first: str, second: str) -> bool:
    """Whether one is the other or the beginning of its path."""
    return f"{first}/".startswith(f"{second}/") or f"{second}/".startswith(f"{first}/")


def _refuse_nested(path: Path, known: Sequence[KnownFolder]) -> None:
    """A folder inside another would give its files twice."""
    shown = escape_path(path)
    for other in known:
        if _overlap(shown.rstrip("/"), other.path.rstrip("/")):
            inner, outer = (shown, other.path) if len(shown) > len(other.path) else (other.path, shown)
            advice = f"sync {outer} alone, or remove the other first (--remove)"
            raise InputError(f"{inner} lies in {outer}, so that its files would be there twice: {advice}")


def _list(known: Sequence[KnownFolder]) -> str:
    return ", ".join(repr(folder.path) for folder in known) or "none, it has no folders"
