"""Creates index folders under a temporary name and renames them; the only module that removes folders."""

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
PART = re.compile(r"(codec|segment)-[0-9]{6,12}")  # the only folders that a state may name, and that may be removed


def fsync_folder(folder: Path) -> None:
    """Make the folder's entries durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_part(folder: Path, name: str) -> None:
    """Remove the folder of a codec or a segment; links and other names are left alone."""
    if PART.fullmatch(name) and is_real_folder(folder / name):
        shutil.rmtree(folder / name, ignore_errors=True)


def sweep_parts(folder: Path, kept: Collection[str]) -> None:
    """Remove all codecs and segments except `kept`; the caller must hold the writer lock."""
    for name in os.listdir(folder):
        if name not in kept:
            remove_part(folder, name)


@contextmanager
def make_folder_beside(target: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `target`; rename it to `target` on success, remove it after an error.

    It is locked while in use. Folders that killed processes left behind are not, and the next call for the same target
    removes them.
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
    """Remove an abandoned temporary folder: its lock is free, or it is empty and older than MOMENT."""
    if not is_real_folder(leftover):
        return
    with suppress(OSError):
        if time.time() - leftover.stat().st_mtime > MOMENT:  # a newer one may be about to get its lock
            leftover.rmdir()
    if (leftover / LOCK).exists():
        with suppress(IndexFolderError), hold_writer_lock(leftover):
            shutil.rmtree(leftover, ignore_errors=True)
