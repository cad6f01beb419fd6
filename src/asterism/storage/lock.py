"""One writer at a time, in order of arrival. Uses flock, which the system releases when the process ends.

Two files: a writer holds `writer.queue` while it waits for `writer.lock`, so that a writer that just finished cannot
overtake one that waits. Neither file is ever written to, and links in their place are not followed.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import IndexBusy, IndexFolderError
from ..files.regular_files import open_regular
from .faults import damaged, unreadable, unwritable

LOCK = "writer.lock"
QUEUE = "writer.queue"
POLL_SECONDS = 0.005


@contextmanager
def hold_writer_lock(folder: Path, patience: float = 0.0) -> Iterator[None]:
    """Hold the folder's writer lock, waiting for it up to `patience` seconds."""
    deadline = time.monotonic() + patience
    with _open_lock_file(folder / QUEUE) as queue, _open_lock_file(folder / LOCK) as lock:
        _wait(queue, fcntl.LOCK_EX, folder, deadline)
        try:
            _wait(lock, fcntl.LOCK_EX, folder, deadline)
        finally:
            fcntl.flock(queue, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)  # explicitly, because a forked child may still have the descriptor


@contextmanager
def keep_writers_out(folder: Path, patience: float) -> Iterator[None]:
    """Hold a shared lock that blocks writers but not readers; changes no file."""
    try:
        descriptor = open_regular(folder / LOCK)
    except FileNotFoundError:  # no writer has ever locked this folder
        yield
        return
    except OSError as error:
        raise unreadable(folder / LOCK, error) from error
    try:
        _wait(descriptor, fcntl.LOCK_SH, folder, time.monotonic() + patience)
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


@contextmanager
def _open_lock_file(path: Path) -> Iterator[int]:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        if path.is_symlink():
            raise damaged(path, "is a link, expected a regular file") from error
        raise unwritable(path.parent, error) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise damaged(path, "is not a regular file")
        yield descriptor
    finally:
        os.close(descriptor)


def _wait(descriptor: int, kind: int, folder: Path, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                advice = "wait for it to end, or give the seconds to wait (wait=, --wait)"
                raise IndexBusy(f"{folder} is being written by another process or thread: {advice}") from None
        except OSError as error:
            raise IndexFolderError(f"{folder} cannot be locked ({error.strerror}): use a local disk") from error
        time.sleep(POLL_SECONDS)
