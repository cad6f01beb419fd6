"""Takes the bytes of a file that somebody may be writing: whole and of one moment, or not at all."""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from ...files.regular_files import open_regular
from .skipping import Unusable
from .walking import Stamp

LARGEST_FILE = 1 << 28  # bytes
HEAD = 1 << 16  # bytes that show whether a file of no known format is a text
PROBED = 1 << 20  # bytes: smaller files are read as a whole
ATTEMPTS = 3
SETTLED = 2_000_000_000  # nanoseconds: a file that changed more recently can change again without a new time stamp


@dataclass(frozen=True)
class Taken:
    """A file's bytes and their hash.

    stamp: None if a later change might have the same one · is_binary: a large file of which only the beginning, which
    is no text, was read; its hash is of that.
    """

    data: bytes
    sha256: str
    stamp: Stamp | None
    is_binary: bool = False


def take_file(path: Path, has_format: bool) -> Taken:
    """Read a file; raises Unusable with a reason. Without a known format, a large binary file is not read further."""
    for _ in range(ATTEMPTS):
        now = time.time_ns()
        try:
            before, data, after = _read(path, has_format)
        except FileNotFoundError:
            raise Unusable("gone") from None
        except PermissionError as error:
            raise Unusable("no permission", str(error.strerror)) from None
        except OSError as error:
            raise _explain(path, error) from None
        is_binary = len(data) == HEAD < before.size
        if before == after and (is_binary or len(data) == before.size):
            settled = before.ctime_ns < now - SETTLED  # anybody can set the other time, also to the future
            return Taken(data, hashlib.sha256(data).hexdigest(), before if settled else None, is_binary)
    raise Unusable("changing")


def describe_size(size: int) -> str:
    """Why a file is too large."""
    return f"it has {size:,} bytes, expected at most {LARGEST_FILE:,}"


def _read(path: Path, has_format: bool) -> tuple[Stamp, bytes, Stamp]:
    """The bytes, and the stamps before and after they were read."""
    with open(open_regular(path), "rb") as file:
        before = Stamp.from_status(os.fstat(file.fileno()))
        if before.size > LARGEST_FILE:
            raise Unusable("too large", describe_size(before.size))
        data = file.read(min(before.size, HEAD))
        if has_format or before.size <= PROBED or b"\0" not in data:
            data += file.read(before.size - len(data))  # with a size, because a growing file has no end
        return before, data, Stamp.from_status(os.fstat(file.fileno()))


def _explain(path: Path, error: OSError) -> Unusable:
    """The reason for which a file cannot be opened or read."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        return Unusable("special file", f"{error.strerror}, since the folder was listed")
    return Unusable("unreadable", str(error.strerror))
