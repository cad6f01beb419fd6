"""The temporary folder of a download: locked while it is in use, removed by the next download if its process died."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..files.regular_files import is_real_folder, open_regular

MAKING = ".making-"
LOCK = "lock"  # held while the folder is in use; released when the process ends
GATE = ".making.lock"  # held while folders are removed or made, so that a new folder without a lock is not removed


@contextmanager
def make_pull_folder(target: Path) -> Iterator[Path]:
    """A new folder beside `target`, removed at the end; folders of dead processes are removed first."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with _hold_lock(target.parent / GATE):
        for leftover in target.parent.glob(f".*{MAKING}*"):
            _sweep(leftover)
        folder = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}{MAKING}"))
        held = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(held, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


@contextmanager
def _hold_lock(file: Path) -> Iterator[None]:
    """Wait for the lock, which is only held for moments."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


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
