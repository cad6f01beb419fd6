"""The folders that a sync is about: their real paths, their names in the index, and what is wanted of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...documents.files.chunking import Chunking
from ...documents.folders.names import escape_path
from ...documents.folders.selecting import Selection
from ...errors import InputError
from .memory import KnownFolder
from .naming import name_folder, overlap
from .places import FilesOf, PathLike, find_place, find_real_folder, is_moved_to, see_from_index

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
    """A folder to be synced: where it is, and how the index knows it. moved_from: where it was, "" if it is there."""

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
    for path in dict.fromkeys(find_real_folder(one, known) for one in given):
        choosing.take(path)
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
            self._choose(path, self._before[name])

    def take(self, path: Path) -> None:
        """The folder at a real path: one of the index, one that was moved there, or a new one."""
        name = next((name for name, place in self._places.items() if place == path), None)
        if name is None:
            moved = (folder for folder in self.missing.values() if is_moved_to(path, folder, self._files_of(folder)))
            folder = next(moved, None) or KnownFolder(name_folder(path, list(self._before)), escape_path(path))
            self.missing.pop(folder.name, None)
            name = self._before.setdefault(folder.name, folder).name
        self._choose(path, self._before[name])

    def _choose(self, path: Path, folder: KnownFolder) -> None:
        shown = escape_path(path)
        is_known = folder.name in self._places and folder.path == shown
        if not is_known:
            self._refuse_nested(shown, folder.name)
        self._places[folder.name] = path
        here = replace(folder, path=shown, from_index=see_from_index(path, self._index))
        self.chosen.append(ChosenFolder(path, here, "" if folder.path == shown else folder.path))

    def _refuse_nested(self, shown: str, name: str) -> None:
        """A folder that is, or lies in, another of the index would give its files twice."""
        for other in self._before.values():
            place = escape_path(self._places[other.name]) if other.name in self._places else other.path
            if other.name == name or not overlap(shown.rstrip("/"), place.rstrip("/")):
                continue
            inner, outer = (shown, place) if len(shown) > len(place) else (place, shown)
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
