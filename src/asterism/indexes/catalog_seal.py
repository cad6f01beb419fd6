"""The checksum of a whole catalog file, which SQLite does not have.

SQLite's locks are the process's own, and closing *any* descriptor of the file gives them up. So the file is read
through one descriptor that is kept until the last catalog of this process on that file is closed.
"""

from __future__ import annotations

import os
import threading
import zlib
from pathlib import Path

from ..errors import DamagedIndex
from .storage import READ_BYTES, REMEDY

_kept: dict[tuple[int, int], list[int]] = {}  # (device, inode) -> [descriptor, users]
_guard = threading.Lock()


class SealedFile:
    """Reads the file at `path` for as long as it is held; `release` once, after the last connection is closed."""

    def __init__(self, path: Path) -> None:
        """Open it, or share the descriptor that another one holds."""
        self.path = path
        with _guard:
            try:
                facts = os.stat(path)
                self._key = (facts.st_dev, facts.st_ino)
                if self._key not in _kept:
                    _kept[self._key] = [os.open(path, os.O_RDONLY | os.O_CLOEXEC), 0]
            except OSError as error:
                raise DamagedIndex(f"{path} cannot be read ({error.strerror}): {REMEDY}") from error
            _kept[self._key][1] += 1

    def release(self) -> None:
        """Give the descriptor up."""
        with _guard:
            kept = _kept[self._key]
            kept[1] -= 1
            if kept[1] == 0:
                os.close(kept[0])
                del _kept[self._key]

    @property
    def bytes(self) -> int:
        """Size of the file now."""
        return os.fstat(_kept[self._key][0]).st_size

    def facts(self) -> dict[str, int]:
        """Size and checksum, to be taken while nobody writes."""
        descriptor, checksum, size = _kept[self._key][0], 0, 0
        while block := os.pread(descriptor, READ_BYTES, size):
            checksum = zlib.crc32(block, checksum)
            size += len(block)
        return {"bytes": size, "crc32": checksum}
