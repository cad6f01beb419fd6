"""Compares a folder with what the index remembers of it; reads no file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from ...documents.folders.names import make_stem
from ...documents.folders.selecting import Selection
from ...documents.folders.skipping import SkippedFile, count_reasons
from ...documents.folders.taking import LARGEST_FILE, describe_size
from ...documents.folders.walking import FoundFile, Walk, walk_folder
from ...errors import InputError
from .folders import REMOVE, ChosenFolder
from .memory import FolderMemory


@dataclass(frozen=True)
class Changes:
    """Of one folder.

    doubtful: new files, and files that may have changed: (full name, file) · unchanged: how many · removed: stem ->
    full name of files that are gone, "" if no fact names it · skipped: what is left out without being read.
    """

    chosen: ChosenFolder
    memory: FolderMemory
    doubtful: list[tuple[str, FoundFile]] = field(default_factory=list)
    unchanged: int = 0
    removed: dict[str, str] = field(default_factory=dict)
    skipped: list[SkippedFile] = field(default_factory=list)


@dataclass(frozen=True)
class Plan:
    """Of all folders that are synced. missing: paths of others that are gone."""

    changes: tuple[Changes, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def chosen(self) -> list[ChosenFolder]:
        """The folders that are synced."""
        return [one.chosen for one in self.changes]


def find_changes(chosen: ChosenFolder, memory: FolderMemory, index: Path) -> Changes:
    """Walk through a folder and compare sizes and times."""
    folder = chosen.folder
    walk = walk_folder(chosen.path, Selection(folder.include, folder.exclude), index)
    prefix = f"{folder.name}/"
    skipped = [replace(one, file=prefix + one.file) for one in walk.skipped]
    doubtful, unchanged, present = [], 0, set()
    for found in walk.files:
        file = prefix + found.name
        if found.stamp.size > LARGEST_FILE:
            skipped.append(SkippedFile(file, "too large", describe_size(found.stamp.size)))
            continue
        present.add(make_stem(file))
        known = memory.recall(file, folder.chunking)
        if known is None or known.stamp != found.stamp:
            doubtful.append((file, found))
        elif known.reason:
            skipped.append(SkippedFile(file, known.reason, known.detail))
        else:
            unchanged += 1
    names = {make_stem(file): file for file in memory.files}
    stems = (memory.held.keys() | names.keys()) - present
    gone = {stem: names.get(stem, "") for stem in sorted(stems)}
    removed = {stem: file for stem, file in gone.items() if not walk.may_have((file or stem)[len(prefix) :])}
    if memory.held and not walk.files and memory.held.keys() <= removed.keys():
        raise _explain_emptied(chosen.path, walk)
    return Changes(chosen, memory, doubtful, unchanged, removed, skipped)


def _explain_emptied(path: Path, walk: Walk) -> InputError:
    """A folder without any file is more likely a disk that is not mounted, or a wrong pattern, than a wish."""
    reasons = count_reasons(walk.skipped)
    why = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items())
    what = f"has no file that is wanted ({why})" if why else "is empty"
    by_patterns = {"excluded": "change the globs", "ignored": "change its .gitignore"}
    advice = next((advice for reason, advice in by_patterns.items() if reason in reasons), "mount it")
    return InputError(f"{path} {what}, but the index has files of it: nothing was changed; {advice}, or {REMOVE}")
