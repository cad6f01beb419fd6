"""Makes a folder under a temporary name beside its place and renames it, so that nobody sees half of it."""

from __future__ import annotations

import fcntl
import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MAKING = ".writing-"


@contextmanager
def make_whole_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `target`; rename it to `target` on success, remove it after an error.

    FileExistsError if the path is taken. The folder is locked while in use. Folders that killed processes left behind
    are not, and the next call for the same target removes them.
    """
    if os.path.lexists(target):
        raise FileExistsError(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    for leftover in target.parent.glob(f".{glob.escape(target.name)}{MAKING}*"):
        _sweep(leftover)
    temporary, held = _make_locked(target)
    try:
        yield temporary
        temporary.chmod(0o755)
        _fsync_all(temporary)
        if os.path.lexists(target):  # a rename would replace an empty folder
            raise FileExistsError(target)
        temporary.rename(target)
        _fsync(target.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        os.close(held)


def _make_locked(target: Path) -> tuple[Path, int]:
    """A new folder, and the descriptor that holds its lock. Another process may sweep it before it is locked."""
    while True:
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}{MAKING}", dir=target.parent))
        with suppress(FileNotFoundError):
            held = os.open(temporary, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(held, fcntl.LOCK_EX)
            if temporary.exists():
                return temporary, held
            os.close(held)


def _fsync_all(folder: Path) -> None:
    """Make the content of a folder durable."""
    for path in [*folder.rglob("*"), folder]:
        _fsync(path)


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sweep(leftover: Path) -> None:
    """Remove a folder whose lock is free. A link is not followed."""
    with suppress(OSError):
        held = os.open(leftover, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(leftover, ignore_errors=True)
        finally:
            os.close(held)
