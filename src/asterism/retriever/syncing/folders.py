"""The folders that a sync is about: where they are, their names in the index, and what is wanted of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...documents.files.chunking import Chunking
from ...documents.folders.names import escape_path, unescape_name
from ...documents.folders.selecting import Selection
from ...errors import InputError
from .memory import KnownFolder
from .naming import name_folder
from .places import FilesOf, PathLike, find_place, find_real_folder, is_moved_to, place_folder

REMOVE = "run `asterism sync DIR FOLDER --remove` to remove its files from the index"


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
    """A folder to be synced: its real path, and how the index knows it. moved_from: its path before, "" if the same."""

    path: Path
    folder: KnownFolder
    moved_from: str = ""


@dataclass(frozen=True)
class Choice:
    """Folders to be synced. missing: paths of other folders of the index that are gone."""

    chosen: tuple[ChosenFolder, ...]
    missing: tuple[str, ...] = ()


def choose_folders(
    given: Sequence[PathLike],
    known: Sequence[KnownFolder],
    wishes: Wishes,
    index: Path,
    files_of: FilesOf = lambda _: (),
) -> Choice:
    """The given folders, or all that the index has; each must be there."""
    if not given and not known:
        raise InputError("the index has no folders yet, expected some to sync: asterism sync DIR FOLDER…")
    choosing = _Choosing(known, index, files_of)
    if not given:
        choosing.take_all()
    places: dict[Path, PathLike] = {}
    for one in given:
        places.setdefault(find_real_folder(one, known, index), one)
    for path, shown in places.items():
        choosing.take(path, shown)
    chosen = tuple(replace(one, folder=wishes.apply(one.folder)) for one in choosing.chosen)
    return Choice(chosen, tuple(folder.path for folder in choosing.missing.values()))


class _Choosing:
    """Matches paths with the folders that an index has, wherever these are now."""

    def __init__(self, known: Sequence[KnownFolder], index: Path, files_of: FilesOf) -> None:
        self._index = index
        self._files_of = files_of
        self._before = {folder.name: folder for folder in known}
        self._places: dict[str, Path] = {}  # by name, of folders that are there
        self.missing = {folder.name: folder for folder in known}
        self.chosen: list[ChosenFolder] = []
        for folder in known:
            if (place := find_place(folder, index, files_of)) is not None:
                self._places[folder.name] = place
                del self.missing[folder.name]

    def take_all(self) -> None:
        """All folders of the index."""
        if self.missing:
            gone = ", ".join(folder.path for folder in self.missing.values())
            advice = f"mount it, sync the place that it was moved to, or {REMOVE}"
            raise InputError(f"{gone} does not exist, expected a folder of the index: nothing was changed; {advice}")
        for name, path in self._places.items():
            self._choose(path, self._before[name], path)

    def take(self, path: Path, given: PathLike) -> None:
        """The folder at a real path: one of the index, one that was moved there, or a new one."""
        name = next((name for name, place in self._places.items() if place == path), None)
        if name is None:
            shown = Path(os.path.abspath(given))
            moved = (folder for folder in self.missing.values() if is_moved_to(shown, folder, self._files_of(folder)))
            new = KnownFolder(name_folder(shown, list(self._before)), escape_path(shown))
            folder = next(moved, None) or new
            self.missing.pop(folder.name, None)
            name = self._before.setdefault(folder.name, folder).name
        self._choose(path, self._before[name], given)

    def _choose(self, path: Path, folder: KnownFolder, given: PathLike) -> None:
        self._refuse_nested(path, folder.name)
        self._places[folder.name] = path
        here = place_folder(folder, path, given, self._index)
        self.chosen.append(ChosenFolder(path, here, "" if folder.path == here.path else folder.path))

    def _refuse_nested(self, path: Path, name: str) -> None:
        """A folder that is, or lies in, another of the index would give its files twice."""
        for other in self._before.values():
            place = self._places.get(other.name) or Path(unescape_name(other.path))
            if other.name == name or not (path.is_relative_to(place) or place.is_relative_to(path)):
                continue
            outer, inner = sorted((escape_path(path), escape_path(place)), key=len)
            if inner == outer:
                both = f"{name!r} and {other.name!r}"
                raise InputError(f"{inner} is two folders of the index, {both}, expected one: remove one (--remove)")
            advice = f"sync {outer} alone, or remove the other first (--remove)"
            raise InputError(f"{inner} lies in {outer}, so that its files would be there twice: {advice}")


def find_known_folders(
    given: Sequence[PathLike], known: Sequence[KnownFolder], index: Path, files_of: FilesOf
) -> list[KnownFolder]:
    """Folders that the index has, by path or else by name; they need not exist any more."""
    found: dict[str, KnownFolder] = {}
    for one in given:
        here, real = os.path.abspath(one), os.path.realpath(one)
        matching = [folder for folder in known if folder.path in (os.fspath(one), escape_path(here))]
        matching = matching or [folder for folder in known if find_place(folder, index, files_of) == Path(real)]
        matching = matching or [folder for folder in known if folder.path == escape_path(real)]
        if not matching and not os.path.lexists(one):  # what is there has a path, and is another folder
            matching = [folder for folder in known if folder.name == os.fspath(one).rstrip("/")]
        if not matching:
            listed = ", ".join(repr(folder.path) for folder in known) or "none, it has no folders"
            raise InputError(f"the index has no folder {os.fspath(one)!r}, expected one of: {listed}")
        found |= {folder.name: folder for folder in matching}
    return list(found.values())
