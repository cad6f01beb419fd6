"""Translates errors of the operating system into asterism's errors.

DamagedIndex       a file is missing, is not a regular file, or was changed after it was written
IndexFolderError   no descriptors, memory, space or permission; the message says what to do
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import DamagedIndex, IndexFolderError
from ..kernels import _native

REMEDY = "repair it, restore it from a copy or build it again"

OF_THE_INDEX = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EINVAL, errno.EFBIG, errno.ENXIO}
OF_THE_INDEX |= {errno.EIO}  # an unreadable part of the disk
ADVICE = {
    errno.EMFILE: "close other files of this process, or raise its limit (ulimit -n)",
    errno.ENFILE: "the system has no more open files: close some",
    errno.ENOMEM: "there is not enough memory: close other programs",
    errno.EACCES: "check its permissions",
    errno.EPERM: "check its permissions",
    errno.EROFS: "the file system is read-only: use another",
    errno.ENOSPC: "what was committed is intact; make room, then try again",
    errno.EDQUOT: "what was committed is intact; make room, then try again",
    errno.EFAULT: "a file was cut short while it was read",
}


def damaged(path: Path | str, what: str) -> DamagedIndex:
    """The error for a file that was changed after it was written."""
    return DamagedIndex(f"{path} {what}: {REMEDY}")


def unreadable(path: Path, error: OSError) -> IndexFolderError:
    """The error for a failed read of an index file."""
    reason = error.strerror or str(error)
    if error.errno in OF_THE_INDEX:
        return damaged(path, f"cannot be read ({reason})")
    return IndexFolderError(f"{path} cannot be read ({reason}): {ADVICE.get(error.errno or 0, 'try again')}")


def unwritable(path: Path, error: OSError) -> IndexFolderError:
    """The error for a failed write into an index."""
    reason = error.strerror or str(error)
    advice = ADVICE.get(error.errno or 0, "what was committed is intact; fix the cause, then try again")
    return IndexFolderError(f"{path} cannot be written ({reason}): {advice}")


@contextmanager
def report_write_errors(folder: Path) -> Iterator[None]:
    """Raise IndexFolderError for an OSError while writing into the folder."""
    try:
        yield
    except OSError as error:
        raise unwritable(folder, error) from error


@contextmanager
def report_damage(folder: Path) -> Iterator[None]:
    """Raise DamagedIndex if native code finds damage in mapped files of the folder, or if pages are lost."""
    try:
        yield
    except DamagedIndex:
        refuse_lost_pages(folder)  # the cause, if pages are lost
        raise
    except _native.DamagedIndex as error:
        refuse_lost_pages(folder)
        raise DamagedIndex(f"{folder}: {error}; {REMEDY}") from error
    refuse_lost_pages(folder)


def refuse_lost_pages(folder: Path) -> None:
    """Raise DamagedIndex if a mapped file of the folder was truncated: its lost pages read as zeros."""
    inside = os.fsencode(folder) + b"/"
    for name in _native.lost_files():
        if name.startswith(inside):
            raise damaged(os.fsdecode(name), "was cut short while it was open")
