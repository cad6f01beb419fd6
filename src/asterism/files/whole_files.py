"""Files that appear whole or not at all: written under a temporary name, then renamed."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ..errors import DiskFull, InputError
from .regular_files import create_file

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

WriteLines = Callable[[Iterable[bytes]], None]


def write_whole_file(file: Path, content: bytes) -> None:
    """Write a file at once, and its folder if it is not there; failures are OSErrors."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with open(handle, "wb") as stream:
            stream.write(content)
        os.replace(temporary, file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextmanager
def stream_whole_file(path: str | os.PathLike[str]) -> Iterator[WriteLines]:
    """Write a file in parts; yields a function that writes some lines. See `open_whole_file`."""
    with open_whole_file(path) as file:

        def write(lines: Iterable[bytes]) -> None:
            with name_failures(Path(path)):
                file.writelines(lines)

        yield write


@contextmanager
def open_whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a stream to write to; the file appears when the block ends, and not at all if it raises.

    Failures to make or to place it are InputErrors that name the file, or DiskFull.
    """
    target = Path(path)
    temporary = target.parent / f".{target.name}.new-{os.getpid()}"
    check_target(target)
    with name_failures(target):
        temporary.unlink(missing_ok=True)
        file = create_file(temporary)
    try:
        yield file
        with name_failures(target):
            file.close()
            os.replace(temporary, target)
    finally:
        with suppress(OSError):  # writing what is left fails again if it failed before
            file.close()
        temporary.unlink(missing_ok=True)


def check_target(path: str | os.PathLike[str]) -> None:
    """Refuse a path where no file can be written: without its folder, or not a regular file."""
    target = Path(path)
    if not os.path.isdir(target.parent):
        raise InputError(f"{target} cannot be written (there is no folder {target.parent}): create it first")
    if os.path.exists(target) and not os.path.isfile(target):  # /dev/null would be replaced
        raise InputError(f"{target} cannot be written (it is not a regular file): choose another path")


@contextmanager
def name_failures(target: Path) -> Iterator[None]:
    """Name the file that could not be written; only a full disk is not the fault of its path."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error  # a library's errors may have a message alone
        if error.errno in FULL:
            raise DiskFull(f"{target} cannot be written ({reason}): make room, then try again") from error
        raise InputError(f"{target} cannot be written ({reason}): choose another path") from error
