"""The folder in which a download is made: locked while it is made, swept when its process has died."""

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
LOCK = "lock"  # held as long as the folder is being made; it dies with its process
GATE = ".making.lock"  # held while folders are swept or begun: one that has no lock yet is nobody's leftover then


@contextmanager
def make_pull_folder(target: Path) -> Iterator[Path]:
    """A new folder beside `target`, removed at the end; what dead processes left beside it goes first."""
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
    """Wait for the lock; whoever has it keeps it for moments only."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _sweep(leftover: Path) -> None:
    """Remove a folder whose lock nobody holds. A link stays, and none inside is followed (rmtree does not)."""
    if not is_real_folder(leftover):
        return
    with suppress(OSError):
        leftover.rmdir()  # its process died before it had a lock
    with suppress(OSError):  # somebody holds it, or it is no folder of ours
        held = open_regular(leftover / LOCK)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(leftover, ignore_errors=True)
        finally:
            os.close(held)
