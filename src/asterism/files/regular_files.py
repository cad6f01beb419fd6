"""Opening files that others may have put there: regular files only, of a bounded size, and never waiting for one.

In a folder from somewhere else, a name can lead anywhere: a fifo or a device never ends, a link leaves the folder, a
sparse file is larger than memory. Everything here raises OSError with a plain reason in `strerror`.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

BLOCK = 1 << 20
PATIENCE = 2.0  # seconds to wait for the writer of a fifo
KINDS = {stat.S_IFDIR: "folder", stat.S_IFIFO: "fifo", stat.S_IFSOCK: "socket", stat.S_IFLNK: "link"}
KINDS |= {stat.S_IFCHR: "device", stat.S_IFBLK: "device"}


def open_regular(path: Path, *, links: bool = False) -> int:
    """A descriptor to read a regular file with; `links` says whether the path may end in a link to one."""
    follow = 0 if links else os.O_NOFOLLOW
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | follow)  # a fifo does not block
    except OSError as error:
        if error.errno == errno.ELOOP and path.is_symlink():
            raise _make_error(path, stat.S_IFLNK) from None
        if error.errno == errno.ENXIO:  # a socket
            raise _make_error(path, stat.S_IFSOCK) from None
        raise
    kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
    if kind != stat.S_IFREG:
        os.close(descriptor)
        raise _make_error(path, kind)
    return descriptor


def read_regular(path: Path, most_bytes: int, *, links: bool = False) -> bytes:
    """The whole content of a regular file of at most `most_bytes`."""
    descriptor = open_regular(path, links=links)
    with open(descriptor, "rb", closefd=True) as file:
        size = os.fstat(descriptor).st_size
        if size > most_bytes:
            raise OSError(errno.EFBIG, f"it has {size} bytes, expected at most {most_bytes}", str(path))
        return file.read(size)  # not more: that much would be allocated at once


def stream_regular(path: Path, *, links: bool = False) -> BinaryIO:
    """A regular file to be read piece by piece."""
    return open(open_regular(path, links=links), "rb", closefd=True)


def read_pipe(path: Path) -> Iterator[bytes]:
    """What is written to a fifo, to its end, in blocks; one that nobody opens for writing is an error."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
        if kind != stat.S_IFIFO:
            raise OSError(errno.EINVAL, f"it is a {KINDS.get(kind, 'file')}, expected a fifo", str(path))
        block = _read_first_block(descriptor, path)
        while block:
            yield block
            block = os.read(descriptor, BLOCK)
    finally:
        os.close(descriptor)


def _read_first_block(descriptor: int, path: Path) -> bytes:
    """Without a writer a fifo is at its end at once: one that is about to come is given some time."""
    deadline = time.monotonic() + PATIENCE
    block = b""
    while not block:
        try:
            block = os.read(descriptor, BLOCK)
        except BlockingIOError:  # there is a writer, who has written nothing yet
            break
        if not block:
            if time.monotonic() > deadline:
                raise OSError(errno.EPIPE, "nobody writes to this fifo", str(path))
            time.sleep(PATIENCE / 100)
    os.set_blocking(descriptor, True)
    return block or os.read(descriptor, BLOCK)


def create_file(path: Path) -> BinaryIO:
    """A new file to write to; what stands at the path, a link included, is an error."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return open(os.open(path, flags, 0o666), "wb", closefd=True)


def is_real_folder(path: Path) -> bool:
    """Whether a folder is there itself, not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _make_error(path: Path, kind: int) -> OSError:
    return OSError(errno.EINVAL, f"it is a {KINDS.get(kind, 'special file')}, expected a regular file", str(path))
