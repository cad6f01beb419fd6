"""Copies immutable files of an index: by a hard link on the same file system, otherwise by their content."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from pathlib import Path

from ..files.regular_files import create_file, stream_regular
from .faults import damaged

NOT_LINKABLE = {errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
BLOCK = 1 << 20


def copy_file(source: Path, target: Path) -> None:
    """Make `target` a file with the content of `source`, a regular file that nobody changes any more.

    FileNotFoundError if there is no such file.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    if not stat.S_ISREG(os.lstat(source).st_mode):
        raise damaged(source, "is not a regular file")
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in NOT_LINKABLE:
            raise
        with stream_regular(source) as file, create_file(target) as copy:
            shutil.copyfileobj(file, copy, BLOCK)
