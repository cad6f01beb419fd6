"""Makes a folder in a temporary one beside its place and renames it, so that nobody sees half of it."""

from __future__ import annotations

import errno
import fcntl
import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .regular_files import is_real_folder, open_regular

MAKING = ".making-"
LOCK = "lock"  # held while the temporary folder is in use; the system releases it when the process ends


@contextmanager
def make_whole_folder(target: Path) -> Iterator[Path]:
    """Yield a new folder that becomes `target` on success, with durable files, and is removed after an error.

    FileExistsError: the target is taken.
    """
    _refuse_taken(target)
    with make_temporary_folder(target) as temporary:
        inside = temporary / "new"
        inside.mkdir()
        yield inside
        for path in [*inside.rglob("*"), inside]:
            fsync_path(path)
        _refuse_taken(target)  # once more, because a rename would replace an empty folder
        inside.rename(target)
        fsync_path(target.parent)


@contextmanager
def make_temporary_folder(target: Path) -> Iterator[Path]:
    """Yield a new folder beside `target`, removed at the end; the caller moves out of it what is to stay.

    It is locked while in use. Folders that killed processes left behind are not, and the next call for the same target
    removes them.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError:  # which would say that the target is taken
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(target.parent)) from None
    for leftover in target.parent.glob(f".{glob.escape(target.name)}{MAKING}*"):
        _sweep(leftover)
    folder, held = _make_locked(target)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def fsync_path(path: Path) -> None:
    """Make a file's content, or a folder's entries, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refuse_taken(target: Path) -> None:
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))


def _make_locked(target: Path) -> tuple[Path, int]:
    """A new folder, and the descriptor that holds its lock. Another process may sweep it before it is locked."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}{MAKING}", dir=target.parent))
        with suppress(FileNotFoundError):
            held = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(held, fcntl.LOCK_EX)
            if (folder / LOCK).exists():
                return folder, held
            os.close(held)


def _sweep(leftover: Path) -> None:
    """Remove a folder whose lock is free. A link is not removed, and rmtree follows none inside."""
    if not is_real_folder(leftover):
        return
    with suppress(OSError):
        leftover.rmdir()  # its process died before it made the lock
    with suppress(OSError):  # the lock is held, or the folder is not ours
        held = open_regular(leftover / LOCK)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(leftover, ignore_errors=True)
        finally:
            os.close(held)
