"""Where the folders of an index are now: at their paths, where a link leads, or moved, alone or with the index."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ...documents.folders.names import escape_path, unescape_name
from ...errors import InputError
from .memory import KnownFolder

PathLike = str | os.PathLike[str]
FilesOf = Callable[[KnownFolder], Iterable[str]]  # the full names of a folder's files in the index


def find_place(folder: KnownFolder, index: Path, files_of: FilesOf) -> Path | None:
    """The real path of a folder that the index has; None if it is gone.

    If the index was moved or copied, it is the folder that is where it was as seen from the index: the first one may
    still exist, but then the folder was copied too.
    """
    here = os.path.realpath(index)
    paths = [os.path.realpath(unescape_name(folder.path))]
    beside = os.path.realpath(os.path.join(here, unescape_name(folder.from_index)))
    if folder.from_index and beside != paths[0] and _has_most(Path(beside), folder, files_of(folder)):
        paths.insert(0 if unescape_name(folder.index) != here else 1, beside)
    return next((Path(path) for path in paths if os.path.isdir(path)), None)


def place_folder(folder: KnownFolder, path: Path, given: PathLike, index: Path) -> KnownFolder:
    """The folder with its real path of today; if its own path leads elsewhere, it has the one that was given."""
    here = os.path.realpath(index)
    leads = os.path.realpath(unescape_name(folder.path)) == os.fspath(path)
    return replace(
        folder,
        path=folder.path if leads else escape_path(os.path.abspath(given)),
        index=escape_path(here),
        from_index=escape_path(os.path.relpath(path, here)),
    )


def is_moved_to(path: Path, folder: KnownFolder, files: Iterable[str]) -> bool:
    """Whether a folder that is gone is the one at this path: it has the same name there, and half of the files or more.

    The name alone might be that of another folder, while the first is on a disk that is not mounted.
    """
    if os.path.basename(unescape_name(folder.path)) != path.name:
        return False
    return _has_most(path, folder, files)


def _has_most(path: Path, folder: KnownFolder, files: Iterable[str]) -> bool:
    """Whether half of a folder's files or more are at this path."""
    names = [unescape_name(file.removeprefix(f"{folder.name}/")) for file in files]
    return 2 * sum(os.path.lexists(path / name) for name in names) >= len(names)


def find_real_folder(given: PathLike, known: Sequence[KnownFolder], index: Path) -> Path:
    """The real path of an existing folder; a message for any other path says what to do with it."""
    path, shown = Path(os.path.realpath(given)), os.fspath(given)
    if path.is_dir() and is_inside(path, index):
        raise InputError(f"{shown} is the index itself, expected a folder of files: nothing was changed")
    if path.is_dir():
        return path
    if path.is_file():
        name = next((one.name for one in known if is_inside(path, unescape_name(one.path))), None)
        what, advice = "a file", "`asterism add DIR FILE` adds a file"
        if name is not None:
            what, advice = f"a file of the folder {name!r}", "`asterism sync DIR` reads what changed in it"
        raise InputError(f"{shown} is {what}, expected a folder: nothing was changed; {advice}")
    if path.exists():
        raise InputError(f"{shown} is not a folder, expected one: nothing was changed")
    advice = "check its path"
    if {escape_path(path), escape_path(os.path.abspath(given))} & {folder.path for folder in known}:
        advice = "mount it, sync the place that it was moved to, or remove its files from the index (--remove)"
    raise InputError(f"{shown} does not exist, expected a folder: nothing was changed; {advice}")


def is_inside(path: PathLike, folder: PathLike) -> bool:
    """Whether the real path is in the folder, at any depth."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
