"""Opening files from unknown sources: only regular files of limited size, without blocking.

In a folder from somewhere else, a name can be anything: a fifo or a device that never ends, a link out of the folder, a
sparse file larger than memory. All functions raise OSError with a readable reason in `strerror`.
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
KINDS = {
    stat.S_IFDIR: "folder",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFLNK: "link",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


def open_regular(path: Path, *, links: bool = False) -> int:
    """A descriptor for reading a regular file; `links` says whether the path may be a link to one."""
    follow = 0 if links else os.O_NOFOLLOW
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | follow)  # does not block on a fifo
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
    with stream_regular(path, links=links) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most_bytes:
            raise OSError(errno.EFBIG, f"it has {size} bytes, expected at most {most_bytes}", str(path))
        return file.read(size)  # with a size, because read() would allocate more


def stream_regular(path: Path, *, links: bool = False) -> BinaryIO:
    """A stream for reading a regular file."""
    return open(open_regular(path, links=links), "rb")


def read_pipe(path: Path) -> Iterator[bytes]:
    """All blocks that are written to a fifo; OSError if no writer opens it."""
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
    """A fifo without a writer is at its end at once, so wait a moment for a writer."""
    deadline = time.monotonic() + PATIENCE
    block = b""
    while not block:
        try:
            block = os.read(descriptor, BLOCK)
        except BlockingIOError:  # there is a writer that has not written anything yet
            break
        if not block:
            if time.monotonic() > deadline:
                raise OSError(errno.EPIPE, "no program writes to this fifo", str(path))
            time.sleep(PATIENCE / 100)
    os.set_blocking(descriptor, True)
    return block or os.read(descriptor, BLOCK)


def create_file(path: Path) -> BinaryIO:
    """A new file for writing; an existing path, even a broken link, is an error."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return open(os.open(path, flags, 0o666), "wb")


def is_real_folder(path: Path) -> bool:
    """Whether the path is a folder, and not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _make_error(path: Path, kind: int) -> OSError:
    return OSError(errno.EINVAL, f"it is a {KINDS.get(kind, 'special file')}, expected a regular file", str(path))
