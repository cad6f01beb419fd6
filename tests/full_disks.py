"""Disks that are full: a limit on the size of files, and a device that takes nothing."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def limit_file_size(most: int) -> Iterator[None]:
    """A write beyond `most` bytes fails, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def create_on_full_disk(_: Path) -> BinaryIO:
    """In place of `create_file`; needs /dev/full."""
    return open("/dev/full", "wb")
