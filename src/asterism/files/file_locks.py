"""A lock that processes hold on a file. The system releases it when the process ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def hold_file_lock(file: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock of a file, which is made if it is not there; BlockingIOError if it is taken and `wait` is False."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # explicitly, because a forked child may still have the descriptor
        os.close(descriptor)
