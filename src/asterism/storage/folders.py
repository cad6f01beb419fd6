"""Folders of an index: made beside their place and renamed, and the only place that removes any."""

from __future__ import annotations

import glob
import os
import re
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import IndexExists, IndexFolderError
from ..files.regular_files import is_real_folder
from .faults import unwritable
from .lock import LOCK, hold_writer_lock

MOMENT = 60.0  # seconds
PART = re.compile(r"(codec|segment)-[0-9]{6,12}")  # the names of folders that a state may have, and that may be removed


def fsync_folder(folder: Path) -> None:
    """Make the folder's entries durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_part(folder: Path, name: str) -> None:
    """Remove a codec or a segment from an index: a real folder with such a name, never what a link leads to."""
    if PART.fullmatch(name) and is_real_folder(folder / name):
        shutil.rmtree(folder / name, ignore_errors=True)


def sweep_parts(folder: Path, kept: Collection[str]) -> None:
    """Remove all codecs and segments but those that are `kept`; only for who holds the writer's lock."""
    for name in os.listdir(folder):
        if name not in kept:
            remove_part(folder, name)


@contextmanager
def make_folder_beside(target: Path) -> Iterator[Path]:
    """A folder beside `target` that becomes it when the block ends well, and goes when it does not.

    It is locked while it is made. What a killed process left is not, and is swept by the next that makes the same.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for leftover in target.parent.glob(f".{glob.escape(target.name)}.making-*"):
            _sweep(leftover)
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.making-", dir=target.parent))
    except OSError as error:
        raise unwritable(target.parent, error) from error
    try:
        with hold_writer_lock(temporary):
            yield temporary
            temporary.chmod(0o755)
            fsync_folder(temporary)
            try:
                temporary.rename(target)
            except OSError as error:
                raise IndexExists(f"{target} cannot be made ({error.strerror}): choose another path") from error
            fsync_folder(target.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _sweep(leftover: Path) -> None:
    """Remove a folder that nobody is making any more: nobody holds its lock, or it is empty and not of this minute."""
    if not is_real_folder(leftover):
        return
    with suppress(OSError):
        if time.time() - leftover.stat().st_mtime > MOMENT:  # it may be about to get its lock
            leftover.rmdir()
    if (leftover / LOCK).exists():
        with suppress(IndexFolderError), hold_writer_lock(leftover):
            shutil.rmtree(leftover, ignore_errors=True)
