"""Folders of memory-mapped arrays, written so that a crash leaves the old state or the new one.

Arrays are .npy files. A folder's `manifest.json` names every array with its size and checksum, and its own checksum;
it is written last, under a temporary name, and renamed: a folder without a valid manifest is not an index.
"""

from __future__ import annotations

import fcntl
import glob
import json
import mmap
import os
import shutil
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from ..errors import DamagedIndex, IndexBusy, IndexExists, IndexFolderError, NewerFormat, NotAnIndex

MANIFEST = "manifest.json"
LOCK = "writer.lock"
READ_BYTES = 1 << 22
REMEDY = "restore the index from a copy or build it again"

FileFacts = dict[str, dict[str, int]]


def fsync_folder(folder: Path) -> None:
    """Make the folder's entries durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class ArrayWriter:
    """One .npy file of known shape, written in pieces, with its checksum."""

    def __init__(self, path: Path, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> None:
        """Write the header."""
        self.path = path
        self.dtype = np.dtype(dtype)
        self.expected = int(np.prod(shape))
        self.written = 0
        header = _header(self.dtype, shape)
        self.checksum = zlib.crc32(header)
        self._file = open(path, "xb")  # noqa: SIM115 - closed by close() and __exit__
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
        """For use in a with statement: the file is closed whatever happens."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the handle; `close` has the facts."""
        self._file.close()


def write_arrays(folder: Path, arrays: dict[str, npt.NDArray[Any]]) -> FileFacts:
    """Each array as folder/name.npy; returns sizes and checksums."""
    facts = {}
    for name, values in arrays.items():
        with ArrayWriter(folder / f"{name}.npy", values.dtype, values.shape) as writer:
            writer.write(values)
            facts[f"{name}.npy"] = writer.close()
    return facts


def map_array(path: Path, facts: FileFacts, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Memory-map an array of known type and shape; its size and header must be exactly those of such a file."""
    expected = facts.get(path.name)
    if expected is None:
        raise DamagedIndex(f"{path} is not listed in the manifest: {REMEDY}")
    header = _header(np.dtype(dtype), shape)
    try:
        descriptor = os.open(path, os.O_RDONLY)  # a number: an interruption leaves no file object that complains
    except OSError as error:
        raise DamagedIndex(f"{path} cannot be read ({error.strerror}): {REMEDY}") from error
    try:
        with open(descriptor, "rb", closefd=False) as file:
            size = os.fstat(descriptor).st_size
            intact = file.read(len(header)) == header
            if size != expected["bytes"]:
                raise DamagedIndex(f"{path} has {size} bytes, expected {expected['bytes']}: {REMEDY}")
            if not intact or size != len(header) + np.dtype(dtype).itemsize * int(np.prod(shape)):
                raise DamagedIndex(f"{path} does not hold {np.dtype(dtype)} of shape {shape}: {REMEDY}")
            if 0 in shape:
                return np.empty(shape, dtype)
            return np.asarray(np.memmap(file, dtype, "r", len(header), shape))
    except OSError as error:
        raise DamagedIndex(f"{path} cannot be read ({error.strerror}): {REMEDY}") from error
    finally:
        os.close(descriptor)


def forget_pages(array: npt.NDArray[Any] | None) -> None:
    """Take the pages of a mapped array out of this process's memory; they are read again when they are needed."""
    mapped = getattr(getattr(array, "base", None), "_mmap", None)
    if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def load_verified(path: Path, expected: dict[str, int], dtype: npt.DTypeLike, dimensions: int) -> npt.NDArray[Any]:
    """Read a small array whole, after comparing its checksum."""
    verify_file(path, expected)
    array: npt.NDArray[Any] = np.load(path, allow_pickle=False)
    if array.dtype != np.dtype(dtype) or array.ndim != dimensions:
        raise DamagedIndex(f"{path} holds {array.dtype}{array.shape}, expected {np.dtype(dtype)}: {REMEDY}")
    return array


def _header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """The first bytes of a .npy file of format 1.0, padded so that the data begin at a multiple of 64.

    By hand, because it is compared byte for byte: NumPy may one day write the same facts differently.
    """
    facts = f"{{'descr': '{dtype.str}', 'fortran_order': False, 'shape': {shape!r}, }}"
    padding = -(10 + len(facts) + 1) % 64
    text = facts.encode("latin1") + b" " * padding + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def verify_file(path: Path, expected: dict[str, int]) -> None:
    """Read the whole file and compare its checksum."""
    checksum, size = 0, 0
    try:
        with open(path, "rb") as file:
            while block := file.read(READ_BYTES):
                checksum = zlib.crc32(block, checksum)
                size += len(block)
    except OSError as error:
        raise DamagedIndex(f"{path} cannot be read ({error.strerror}): {REMEDY}") from error
    if size != expected["bytes"] or checksum != expected["crc32"]:
        raise DamagedIndex(f"{path} was changed since it was written: {REMEDY}")


def write_manifest(folder: Path, content: dict[str, Any], name: str = MANIFEST) -> int:
    """Publish: the one moment at which what was written becomes visible. Returns the file's checksum."""
    body = json.dumps(content, indent=1, sort_keys=True)
    text = json.dumps({"crc32": zlib.crc32(body.encode()), "content": body}).encode()
    temporary = folder / f"{name}.new"
    with open(temporary, "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, folder / name)
    fsync_folder(folder)
    return zlib.crc32(text)


def read_manifest(
    folder: Path, kind: str, newest: int, name: str = MANIFEST, checksum: int | None = None
) -> dict[str, Any]:
    """The content of a folder's manifest, told apart from newer, damaged and foreign ones.

    With a `checksum` the folder is known to be ours, so that anything else than the file it belongs to is damage.
    """
    path = folder / name
    try:
        text = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        if checksum is not None:
            raise DamagedIndex(f"{path} is missing: {REMEDY}") from error
        what = f"holds no {name}" if folder.is_dir() else "is a file" if folder.exists() else "does not exist"
        raise NotAnIndex(f"{folder} {what}: expected a folder that asterism built") from error
    except OSError as error:
        raise IndexFolderError(f"{path} cannot be read ({error.strerror}): check its permissions") from error
    if checksum is not None and zlib.crc32(text) != checksum:
        raise DamagedIndex(f"{path} was changed since it was written: {REMEDY}")
    try:
        outer = json.loads(text)
        body = outer["content"]
        intact = isinstance(body, str) and zlib.crc32(body.encode()) == outer["crc32"]
        content = json.loads(body) if intact else {}
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedIndex(f"{path} is not readable as a manifest: {REMEDY}") from error
    if not intact:
        raise DamagedIndex(f"{path} was changed since it was written: {REMEDY}")
    if content.get("kind") != kind:
        raise NotAnIndex(f"{folder} holds a {content.get('kind')!r}, expected a {kind!r}")
    if content["version"] > newest:
        raise NewerFormat(f"{folder} has format {content['version']}, this reads up to {newest}: upgrade asterism")
    checked: dict[str, Any] = content
    return checked


@contextmanager
def folder_in_the_making(target: Path) -> Iterator[Path]:
    """A folder beside `target` that becomes it when the block ends well, and goes when it does not.

    It is locked while it is made. What a killed process left is not, and is swept by the next that makes the same.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for leftover in target.parent.glob(f".{glob.escape(target.name)}.making-*"):
            _sweep(leftover)
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.making-", dir=target.parent))
    except OSError as error:
        raise IndexFolderError(f"{target.parent} cannot be written ({error.strerror}): choose another path") from error
    try:
        with writing(temporary):
            yield temporary
            temporary.chmod(0o755)
            fsync_folder(temporary)
            try:
                temporary.rename(target)
            except OSError as error:
                raise IndexExists(f"{target} cannot be made ({error.strerror}): choose another path") from error
            fsync_folder(target.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _sweep(leftover: Path) -> None:
    """Remove a folder that nobody is making any more: nobody holds its lock, or it is empty and never got one."""
    with suppress(OSError):
        leftover.rmdir()
    if (leftover / LOCK).exists():
        with suppress(IndexFolderError), writing(leftover):
            shutil.rmtree(leftover, ignore_errors=True)


@contextmanager
def writing(folder: Path, patience: float = 0.0) -> Iterator[None]:
    """Hold the folder's writer lock, waiting for it up to `patience` seconds; it dies with its process."""
    with _lock_file(folder) as lock:
        deadline = time.monotonic() + patience
        while not _locked(lock, folder):
            if time.monotonic() >= deadline:
                raise IndexBusy(f"{folder} is being written by another process or thread: wait for it to end")
            time.sleep(0.01)
        yield


def _locked(lock: TextIO, folder: Path) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise IndexFolderError(f"{folder} cannot be locked ({error.strerror}): use a local disk") from error
    return True


def _lock_file(folder: Path) -> TextIO:
    try:
        return open(folder / LOCK, "w")
    except OSError as error:
        raise IndexFolderError(f"{folder} cannot be written ({error.strerror}): check its permissions") from error
