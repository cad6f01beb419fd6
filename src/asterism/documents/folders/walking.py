"""Walks through a folder: every file once, in a fixed order, and a reason for each that is left out.

No link is followed: one that leads elsewhere in the folder would give the same file twice, and perhaps without end;
one that leads out would read what nobody asked for. A folder's entries are read before the next folder is opened, so
that few descriptors are needed at any depth.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from ...files.regular_files import open_regular
from .names import escape_name, unescape_name
from .selecting import GITIGNORE, Ignoring, Selection, read_gitignore
from .skipping import SkippedFile, name_special

MANIFEST, MANIFEST_HEAD = "manifest.json", b'{"crc32": '  # of an index, as storage/manifest.py writes it


@dataclass(frozen=True)
class Stamp:
    """What tells a changed file from an unchanged one; programs cannot set ctime, unlike mtime."""

    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def from_status(cls, status: os.stat_result) -> Stamp:
        """Of a file's status."""
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@dataclass(frozen=True)
class FoundFile:
    """A regular file: where it is, and its relative path, escaped."""

    path: Path
    name: str
    stamp: Stamp


@dataclass
class Walk:
    """What a folder has. unreadable: relative paths of what could not be looked into: its files may exist."""

    files: list[FoundFile] = field(default_factory=list)
    skipped: list[SkippedFile] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)

    def may_have(self, name: str) -> bool:
        """Whether a file that was not found may be there nevertheless, by its escaped name."""
        path = unescape_name(name)  # because a name is escaped in another way if more follows it
        return any(path == one or path.startswith(f"{one}/") or not one for one in self.unreadable)


def walk_folder(root: Path, selection: Selection, index: Path | None = None) -> Walk:
    """All files of a folder; `index` and all other indexes are left out. Names are relative to `root`."""
    walk = Walk()
    own = _identify(index) if index is not None else None
    left: list[tuple[str, Ignoring | None]] = [("", None)]  # relative paths with a slash at the end; a stack
    while left:
        prefix, ignoring = left.pop()
        found = _list(root, prefix, walk)
        if found is not None and _is_index(root / prefix, found):
            walk.skipped.append(SkippedFile(escape_name(prefix) or ".", "index"))
        elif found is not None:
            ignoring = _look_for_rules(root, prefix, ignoring, found, walk)
            below = [_visit(root, prefix + name, ignoring, selection, own, walk) for name in found]
            left += [(f"{name}/", ignoring) for name in reversed(below) if name is not None]
    walk.files.sort(key=lambda file: os.fsencode(file.path).split(b"/"))
    return walk


def _list(root: Path, prefix: str, walk: Walk) -> list[str] | None:
    """The names in a folder, sorted by their bytes; None if it cannot be read."""
    try:
        return sorted(os.listdir(root / prefix), key=os.fsencode)
    except FileNotFoundError:  # removed since its parent was listed
        return None
    except OSError as error:
        name = prefix.rstrip("/")
        walk.unreadable.append(name)
        walk.skipped.append(SkippedFile(escape_name(name) or ".", "unreadable folder", str(error.strerror)))
        return None


def _is_index(folder: Path, names: list[str]) -> bool:
    """Whether asterism wrote the folder: its manifest begins with a checksum."""
    if MANIFEST not in names:
        return False
    try:
        with open(open_regular(folder / MANIFEST), "rb") as file:
            return file.read(len(MANIFEST_HEAD)) == MANIFEST_HEAD
    except OSError:
        return False


def _look_for_rules(root: Path, prefix: str, above: Ignoring | None, names: list[str], walk: Walk) -> Ignoring | None:
    """The rules that hold in a folder."""
    if GITIGNORE not in names:
        return above
    try:
        return read_gitignore(root / prefix, prefix, above)
    except OSError as error:
        name = escape_name(prefix + GITIGNORE)
        walk.skipped.append(SkippedFile(name, "unreadable", f"its patterns are not known ({error.strerror})"))
        return above


def _visit(
    root: Path, name: str, ignoring: Ignoring | None, selection: Selection, own: tuple[int, int] | None, walk: Walk
) -> str | None:
    """Note a file or a reason; returns the name of a folder that must be walked."""
    path, shown = root / name, escape_name(name)
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        walk.unreadable.append(name)
        walk.skipped.append(SkippedFile(shown, "unreadable", str(error.strerror)))
        return None
    is_folder = stat.S_ISDIR(status.st_mode)
    reason, detail = _find_reason(root, name, status, ignoring, selection)
    if is_folder and (status.st_dev, status.st_ino) == own:
        reason = "index"
    if reason:
        walk.skipped.append(SkippedFile(f"{shown}/" if is_folder else shown, reason, detail))
    elif is_folder:
        return name
    else:
        walk.files.append(FoundFile(path, shown, Stamp.from_status(status)))
    return None


def _find_reason(
    root: Path, name: str, status: os.stat_result, ignoring: Ignoring | None, selection: Selection
) -> tuple[str, str]:
    """Why an entry is left out, and a detail; ("", "") if it is not."""
    is_folder = stat.S_ISDIR(status.st_mode)
    if name.rpartition("/")[2].startswith("."):
        return "hidden", ""
    if ignoring is not None and ignoring.ignores(f"{name}/" if is_folder else name):
        return "ignored", ""
    if is_folder:
        return ("", "") if selection.wants_folder(name) else ("excluded", "")
    if not selection.wants_file(name):
        return "excluded", ""
    if stat.S_ISLNK(status.st_mode):
        return _judge_link(root, root / name), ""
    return ("", "") if stat.S_ISREG(status.st_mode) else ("special file", name_special(status.st_mode))


def _judge_link(root: Path, link: Path) -> str:
    """The reason for which a link is left out."""
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):  # RuntimeError: links in a circle, before Python 3.13
        return "broken link"
    return "inner link" if target.is_relative_to(root) else "outer link"


def _identify(folder: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(folder)
    except OSError:
        return None
    return status.st_dev, status.st_ino
