"""States of rows on disk: a folder of a cache, made once and mapped afterwards."""

from __future__ import annotations

import io
import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from ..errors import EncodingError
from ..files.file_locks import hold_file_lock
from ..files.new_folders import make_temporary_folder
from ..files.regular_files import create_file, is_real_folder, read_regular, stream_regular

Halves = npt.NDArray[np.float16]
Offsets = npt.NDArray[np.int64]

FORMAT = 2  # 1: no checksum of the states
HALF = np.dtype("<f2")
STATES, OFFSETS, FACTS = "states.f16", "offsets.npy", "facts.json"
LARGEST_FACTS = 1 << 12  # bytes
BLOCK = 1 << 22
LOCK = "lock"
MAKING = "states"  # names the temporary folders of all states, so that the next call removes what any other left


class StateFolder:
    """The states of some rows, one row after another. The folder has its name as soon as it is complete, not before.

    states.f16    (tokens, hidden) float16, little-endian, without a header
    offsets.npy   (rows + 1,) int64, the token that each row begins with
    facts.json    sizes, and the checksums of both
    """

    def __init__(self, cache: Path, name: str, offsets: Offsets, hidden: int) -> None:
        """`name` is 64 hexadecimal digits that stand for everything that determines the states."""
        self.cache, self.path = cache, cache / name
        self.shape = (int(offsets[-1]), hidden)
        self._offsets = _serialise(offsets)
        self._states_bytes = self.shape[0] * hidden * HALF.itemsize
        self._rows = len(offsets) - 1
        self.bytes = self._states_bytes + len(self._offsets) + len(self._describe(0))

    def open_or_make(self, compute: Callable[[], Iterable[Halves]]) -> Halves:
        """(tokens, hidden) mapped; if the folder is not there or not whole, it is made.

        `compute` gives the states in blocks (some tokens, hidden), from the first token to the last.
        One process at a time makes states. Another one that needs the same waits, and finds them made.
        """
        found = self._find()
        if found is not None:
            return found
        with self._report_write_errors():
            self.cache.mkdir(parents=True, exist_ok=True)
            with hold_file_lock(self.cache / LOCK):
                found = self._find()
                if found is None:
                    self._make(compute)
                    found = self._find()
        if found is None:
            raise EncodingError(f"{self.path} was changed while it was written: try again")
        return found

    def _find(self) -> Halves | None:
        """(tokens, hidden) mapped; None if a file is missing, cut short or not as it was written."""
        try:
            facts = read_regular(self.path / FACTS, LARGEST_FACTS)
            if read_regular(self.path / OFFSETS, len(self._offsets)) != self._offsets:
                return None
            with stream_regular(self.path / STATES) as stream:
                if os.fstat(stream.fileno()).st_size != self._states_bytes:
                    return None
                if facts != self._describe(_compute_checksum(stream)):
                    return None
                if not self._states_bytes:  # an empty file cannot be mapped
                    return np.empty(self.shape, HALF)
                return np.asarray(np.memmap(stream, HALF, "r", shape=self.shape))
        except OSError:
            return None

    def _make(self, compute: Callable[[], Iterable[Halves]]) -> None:
        """Write all files in a temporary folder, then rename it; an error leaves nothing behind."""
        with make_temporary_folder(self.cache / MAKING) as temporary:
            _remove_states(self.path)
            self._require_space()
            inside = temporary / "new"
            inside.mkdir()
            checksum = 0
            with create_file(inside / STATES) as stream:
                for block in compute():
                    content = np.ascontiguousarray(block, HALF).tobytes()
                    stream.write(content)
                    checksum = zlib.crc32(content, checksum)
                stream.flush()
                os.fsync(stream.fileno())
            for file, small in ((OFFSETS, self._offsets), (FACTS, self._describe(checksum))):
                with create_file(inside / file) as stream:
                    stream.write(small)
            inside.rename(self.path)

    def _describe(self, checksum: int) -> bytes:
        """What facts.json holds; as many bytes for any checksum."""
        facts = {
            "format": FORMAT,
            "rows": self._rows,
            "tokens": self.shape[0],
            "hidden": self.shape[1],
            "states_crc32": f"{checksum:08x}",
            "offsets_crc32": f"{zlib.crc32(self._offsets):08x}",
        }
        return json.dumps(facts).encode()

    def _require_space(self) -> None:
        """Refuse what the disk cannot hold before hours are spent on it."""
        free = shutil.disk_usage(self.cache).free
        if self.bytes > free:
            raise EncodingError(
                f"{self.cache} has {free / 1e6:,.1f} MB of free space, but the states of {self.shape[0]:,} tokens need "
                f"{self.bytes / 1e6:,.1f} MB: free some, use a folder on another disk, or give fewer texts"
            )

    @contextmanager
    def _report_write_errors(self) -> Iterator[None]:
        """Raise EncodingError for an OSError while writing into the cache."""
        try:
            yield
        except OSError as error:
            raise EncodingError(
                f"{self.cache}: the states of {self.shape[0]:,} tokens ({self.bytes / 1e6:,.1f} MB) cannot be written "
                f"({error.strerror or error}): check space and permissions, or use another folder"
            ) from error


def _serialise(offsets: Offsets) -> bytes:
    """The content of offsets.npy."""
    stream = io.BytesIO()
    np.save(stream, offsets)
    return stream.getvalue()


def _compute_checksum(stream: BinaryIO) -> int:
    """Of all that follows."""
    checksum = 0
    while block := stream.read(BLOCK):
        checksum = zlib.crc32(block, checksum)
    return checksum


def _remove_states(folder: Path) -> None:
    """Remove a folder of states, if there is one: its files by name, and nothing else."""
    if is_real_folder(folder):
        for file in (STATES, OFFSETS, FACTS):
            (folder / file).unlink(missing_ok=True)
        folder.rmdir()
