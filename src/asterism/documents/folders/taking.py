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
ATTEMPTS = 3
SETTLED = 2_000_000_000  # nanoseconds: a file that changed more recently can change again without a new time stamp


@dataclass(frozen=True)
class Taken:
    """A file's bytes and their hash; stamp: None if a later change might have the same one."""

    data: bytes
    sha256: str
    stamp: Stamp | None


def take_file(path: Path) -> Taken:
    """Read a file; raises Unusable with a reason."""
    for _ in range(ATTEMPTS):
        now = time.time_ns()
        try:
            before, data, after = _read(path)
        except FileNotFoundError:
            raise Unusable("gone") from None
        except PermissionError as error:
            raise Unusable("no permission", str(error.strerror)) from None
        except OSError as error:
            raise _explain(path, error) from None
        if before == after and len(data) == before.size:
            settled = max(before.mtime_ns, before.ctime_ns) < now - SETTLED
            return Taken(data, hashlib.sha256(data).hexdigest(), before if settled else None)
    raise Unusable("changing")


def _read(path: Path) -> tuple[Stamp, bytes, Stamp]:
    """The bytes, and the stamps before and after they were read."""
    with open(open_regular(path), "rb") as file:
        before = Stamp.from_status(os.fstat(file.fileno()))
        if before.size > LARGEST_FILE:
            raise Unusable("too large", f"it has {before.size:,} bytes, expected at most {LARGEST_FILE:,}")
        data = file.read(before.size)  # with a size, because a growing file has no end
        return before, data, Stamp.from_status(os.fstat(file.fileno()))


def _explain(path: Path, error: OSError) -> Unusable:
    """The reason for which a file cannot be opened or read."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        return Unusable("special file", f"{error.strerror}, since the folder was listed")
    return Unusable("unreadable", str(error.strerror))
