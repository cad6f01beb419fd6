"""Arrays as .npy files: written with a checksum; mapped or read without trusting their content.

Only regular files of exactly the expected size are opened. A mapped array keeps no file descriptor open.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from ..files.regular_files import create_file, is_real_folder, open_regular, stream_regular
from ..kernels import _native
from .facts import FileFacts
from .faults import damaged, unreadable

READ_BYTES = 1 << 22
SHAPE = re.compile(rb"'shape': \(([0-9, ]*)\), }")
LONGEST_HEADER = 256  # bytes; ours have at most two dimensions


class ArrayWriter:
    """One .npy file of known shape, written in pieces, with its checksum."""

    def __init__(self, path: Path, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> None:
        """Write the header."""
        self.path = path
        self.dtype = np.dtype(dtype)
        self.expected = int(np.prod(shape))
        self.written = 0
        header = _make_header(self.dtype, shape)
        self.checksum = zlib.crc32(header)
        self._file = create_file(path)
        self._file.write(header)

    def write(self, values: npt.NDArray[Any]) -> None:
        """Append `values`."""
        piece = np.ascontiguousarray(values, self.dtype)
        data = piece.reshape(-1).view(np.uint8).data
        self._file.write(data)
        self.checksum = zlib.crc32(data, self.checksum)
        self.written += piece.size

    def close(self) -> dict[str, int]:
        """Flush to disk; returns the file's size and checksum."""
        if self.written != self.expected:
            self._file.close()
            raise ValueError(f"{self.path.name}: {self.written} values written, {self.expected} announced")
        self._file.flush()
        os.fsync(self._file.fileno())
        size = self._file.tell()
        self._file.close()
        return {"bytes": size, "crc32": self.checksum}

    def __enter__(self) -> ArrayWriter:
        """Close the file when the with block ends, also after an error."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file; `close` returns its size and checksum."""
        self._file.close()


def write_arrays(folder: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> FileFacts:
    """Write each array as folder/name.npy; returns sizes and checksums."""
    facts = {}
    for name, values in arrays.items():
        with ArrayWriter(folder / f"{name}.npy", values.dtype, values.shape) as writer:
            writer.write(values)
            facts[f"{name}.npy"] = writer.close()
    return facts


class MappedFolder:
    """The arrays of a folder, mapped on request; mapped arrays remain readable after the folder is removed."""

    def __init__(self, path: Path, files: FileFacts) -> None:
        """`files` lists all files of the folder."""
        if not is_real_folder(path):
            raise damaged(path, "is not a folder")
        self.path = path
        self.files = files
        self._contents: dict[str, npt.NDArray[np.uint8]] = {}

    def array(self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> npt.NDArray[Any]:
        """Map name.npy; its size and header must be exactly those of an array of this type and shape."""
        file, kind = f"{name}.npy", np.dtype(dtype)
        header = _make_header(kind, shape)
        content = self._contents[file] = map_file(self.path / file, self.files[file]["bytes"])
        if (
            len(content) != len(header) + kind.itemsize * _count_values(shape)
            or content[: len(header)].tobytes() != header
        ):
            raise damaged(self.path / file, f"does not hold {kind} of shape {shape}")
        return content[len(header) :].view(kind).reshape(shape)

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return sum(facts["bytes"] for facts in self.files.values())

    def verify(self, only: str | None = None) -> None:
        """Read all files, or only one, and compare their checksums."""
        for name, expected in self.files.items():
            if only not in (None, name):
                continue
            content = self._contents.get(name)
            if content is None:
                verify_file(self.path / name, expected)
                continue
            checksum = 0
            for begin in range(0, len(content), READ_BYTES):
                checksum = zlib.crc32(content[begin : begin + READ_BYTES].data, checksum)
            forget_pages(content)
            if checksum != expected["crc32"]:
                raise damaged(self.path / name, "was changed since it was written")


def verify_folders(folders: Iterable[MappedFolder], threads: int) -> None:
    """Verify all files of all folders in parallel; raises DamagedIndex for the first that is wrong."""
    with ThreadPoolExecutor(threads) as team:
        for _ in team.map(MappedFolder.verify, folders):
            pass


def read_array(path: Path, expected: Mapping[str, int], dtype: npt.DTypeLike, dimensions: int) -> npt.NDArray[Any]:
    """Read a small array into memory; its checksum, type and number of dimensions must be as expected."""
    content = np.array(map_file(path, expected["bytes"]))
    if zlib.crc32(content.data) != expected["crc32"]:
        raise damaged(path, "was changed since it was written")
    kind = np.dtype(dtype)
    found = SHAPE.search(content[:LONGEST_HEADER].tobytes())
    shape = tuple(int(extent) for extent in found[1].replace(b" ", b"").split(b",") if extent) if found else ()
    header = _make_header(kind, shape)
    fits = len(content) == len(header) + kind.itemsize * _count_values(shape)
    if len(shape) != dimensions or not fits or content[: len(header)].tobytes() != header:
        raise damaged(path, f"does not hold {kind} of {dimensions} dimensions")
    return content[len(header) :].view(kind).reshape(shape)


def forget_pages(array: npt.NDArray[Any] | None) -> None:
    """Drop the pages of a mapped array from this process's memory; they are read again when needed."""
    if array is not None and array.size:
        _native.forget_pages(array)


def verify_file(path: Path, expected: Mapping[str, int]) -> None:
    """Read the whole file and compare its size and checksum."""
    checksum = 0
    try:
        with stream_regular(path) as file:
            changed = os.fstat(file.fileno()).st_size != expected["bytes"]
            while not changed and (block := file.read(READ_BYTES)):
                checksum = zlib.crc32(block, checksum)
    except OSError as error:
        raise unreadable(path, error) from error
    if changed or checksum != expected["crc32"]:
        raise damaged(path, "was changed since it was written")


def map_file(path: Path, size: int | None = None) -> npt.NDArray[np.uint8]:
    """(n,) the mapped bytes of a regular file, which must have `size` bytes if given; keeps no descriptor open."""
    try:
        descriptor = open_regular(path)
        try:
            found = os.fstat(descriptor).st_size
            if size is not None and found != size:
                raise damaged(path, f"has {found} bytes, expected {size}")
            return _native.map_file(descriptor, found, os.fsencode(path)) if found else np.empty(0, np.uint8)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise unreadable(path, error) from error


def _count_values(shape: tuple[int, ...]) -> int:
    """Number of values of a shape, in Python's integers, which do not overflow."""
    count = 1
    for extent in shape:
        count *= extent
    return count


def _make_header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """The first bytes of a .npy file of format 1.0, padded so that the data begin at a multiple of 64.

    Not written by NumPy, because it is compared byte for byte and NumPy may change its formatting.
    """
    facts = f"{{'descr': '{dtype.str}', 'fortran_order': False, 'shape': {shape!r}, }}"
    padding = -(10 + len(facts) + 1) % 64
    text = facts.encode("latin1") + b" " * padding + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
