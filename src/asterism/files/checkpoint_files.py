"""Opening and reading the files of a checkpoint; all errors are CheckpointErrors.

Links are followed, because the hub's cache consists of them, but they must lead to regular files.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import CheckpointError
from .json_text import parse_json
from .regular_files import stream_regular

LARGEST_WITH_HOLES = 1 << 28  # bytes; reading the holes of a smaller file costs little
LEAST_WRITTEN = 8  # in a larger file, at least one of so many bytes must have been written
MOST_JSON_VALUES = 3_000_000  # 100 bytes each in memory; the largest known file, Gemma's tokenizer.json, has 2 million


def is_there(file: Path) -> bool:
    """Whether the name exists, even as a broken link."""
    return os.path.lexists(file)


@contextmanager
def open_checkpoint_file(file: Path) -> Iterator[BinaryIO]:
    """Open a regular file; OSErrors inside the block become CheckpointErrors too."""
    try:
        with stream_regular(file, links=True) as stream:
            _refuse_holes(file, stream.fileno())
            yield stream
    except FileNotFoundError:
        raise CheckpointError(f"{file} is missing, expected a whole checkpoint: copy or download it again") from None
    except OSError as error:
        raise CheckpointError(f"{file} cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # an impossible name, or a place beyond the end of the file
        raise CheckpointError(f"{str(file)!r} cannot be read: {error}") from error


def read_file(file: Path, most_bytes: int) -> bytes:
    """The whole content of a file of at most `most_bytes`."""
    with open_checkpoint_file(file) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > most_bytes:
            raise CheckpointError(f"{file} has {size} bytes, expected at most {most_bytes}")
        return stream.read(size)


def refuse_special_files(folder: Path) -> None:
    """Before a library reads a folder: everything in it must be a regular file or a folder."""
    try:
        for name in os.listdir(folder):
            kind = os.stat(folder / name).st_mode
            if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
                raise CheckpointError(
                    f"{folder / name} is not a regular file, expected only regular files in a checkpoint"
                )
    except OSError as error:
        raise CheckpointError(f"{error.filename} cannot be read: {error.strerror}") from error


def parse_bounded_json(file: Path, content: bytes) -> Any:
    """Parse the JSON `content` of `file`; refused before parsing if that would need hundreds of megabytes."""
    values = sum(content.count(sign) for sign in (b",", b"[", b"{"))
    if values > MOST_JSON_VALUES:
        raise CheckpointError(f"{file} has about {values} JSON values, expected at most {MOST_JSON_VALUES}")
    try:
        return parse_json(content, unique=True)
    except ValueError as error:
        raise CheckpointError(f"{file} cannot be read as JSON: {error}") from error


def _refuse_holes(file: Path, descriptor: int) -> None:
    """Refuse sparse files: an interrupted download or an attack can have a few bytes on disk and terabytes to read."""
    status = os.fstat(descriptor)
    written = status.st_blocks * 512
    if status.st_size <= LARGEST_WITH_HOLES or written * LEAST_WRITTEN >= status.st_size:
        return
    # Some file systems do not count blocks; SEEK_HOLE finds the first hole if there is one.
    if os.lseek(descriptor, 0, os.SEEK_HOLE) < status.st_size:
        raise CheckpointError(f"{file} has {status.st_size} bytes, of which {written} were written: download it again")
    os.lseek(descriptor, 0, os.SEEK_SET)
