"""Whose fault it is: the one table that turns errors of the system into errors of ours.

The index's    a file is missing, is no regular file, or has other bytes than were written: DamagedIndex
The system's   no descriptors, no memory, no room, no permission, a failing disk: IndexFolderError with what to do
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
OF_THE_INDEX |= {errno.EIO}  # a part of the disk that can no longer be read
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
    """The error for a file that is not as it was written."""
    return DamagedIndex(f"{path} {what}: {REMEDY}")


def unreadable(path: Path, error: OSError) -> IndexFolderError:
    """What the system says of reading a file of an index."""
    reason = error.strerror or str(error)
    if error.errno in OF_THE_INDEX:
        return damaged(path, f"cannot be read ({reason})")
    return IndexFolderError(f"{path} cannot be read ({reason}): {ADVICE.get(error.errno or 0, 'try again')}")


def unwritable(path: Path, error: OSError) -> IndexFolderError:
    """What the system says of writing into an index."""
    reason = error.strerror or str(error)
    advice = ADVICE.get(error.errno or 0, "what was committed is intact; mend that, then try again")
    return IndexFolderError(f"{path} cannot be written ({reason}): {advice}")


@contextmanager
def report_write_errors(folder: Path) -> Iterator[None]:
    """What the system says of writes into the folder, as an error of ours."""
    try:
        yield
    except OSError as error:
        raise unwritable(folder, error) from error


@contextmanager
def report_damage(folder: Path) -> Iterator[None]:
    """What native code finds wrong in mapped files of the folder, or that pages are gone, as an error of ours."""
    try:
        yield
    except DamagedIndex:
        refuse_lost_pages(folder)  # the reason why
        raise
    except _native.DamagedIndex as error:
        refuse_lost_pages(folder)
        raise DamagedIndex(f"{folder}: {error}; {REMEDY}") from error
    refuse_lost_pages(folder)


def refuse_lost_pages(folder: Path) -> None:
    """Raise DamagedIndex if a mapped file of the folder was cut short since: zeros stand for what is gone."""
    inside = os.fsencode(folder) + b"/"
    for name in _native.lost_files():
        if name.startswith(inside):
            raise damaged(os.fsdecode(name), "was cut short while it was open")
