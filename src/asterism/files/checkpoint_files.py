"""The files of a checkpoint, opened and read with one kind of error.

Links are followed, because the hub's cache is made of them. What they lead to must be a regular file.
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

LARGEST_WITH_HOLES = 1 << 28  # bytes; below it, reading the holes costs nothing that matters
LEAST_WRITTEN = 8  # above it, one byte of so many must have been written
MOST_JSON_VALUES = 3_000_000  # Gemma's tokenizer.json, the largest known, has about 2 million; 100 bytes each in memory


def is_there(file: Path) -> bool:
    """Whether something has that name, be it a link that leads nowhere."""
    return os.path.lexists(file)


@contextmanager
def open_checkpoint_file(file: Path) -> Iterator[BinaryIO]:
    """A regular file, to be read piece by piece; OSErrors of the block are told as CheckpointErrors too."""
    try:
        with stream_regular(file, links=True) as stream:
            _refuse_holes(file, os.fstat(stream.fileno()), stream.fileno())
            yield stream
    except FileNotFoundError:
        raise CheckpointError(f"{file} is missing") from None
    except OSError as error:
        raise CheckpointError(f"{file} cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # a name that no file can have, a place beyond its end
        raise CheckpointError(f"{str(file)!r} cannot be read: {error}") from error


def read_file(file: Path, most_bytes: int) -> bytes:
    """The whole content of a file of at most `most_bytes`."""
    with open_checkpoint_file(file) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > most_bytes:
            raise CheckpointError(f"{file} has {size} bytes, expected at most {most_bytes}")
        return stream.read(size)


def refuse_special_files(folder: Path) -> None:
    """For libraries that read a folder by themselves: everything in it must be a regular file or a folder."""
    try:
        for name in os.listdir(folder):
            kind = os.stat(folder / name).st_mode
            if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
                raise CheckpointError(f"{folder / name} is no regular file, expected only those in a checkpoint")
    except OSError as error:
        raise CheckpointError(f"{error.filename} cannot be read: {error.strerror}") from error


def parse_bounded_json(file: Path, content: bytes) -> Any:
    """`content` of `file` as JSON; refused before it is parsed if that would take hundreds of megabytes."""
    values = sum(content.count(sign) for sign in (b",", b"[", b"{"))
    if values > MOST_JSON_VALUES:
        raise CheckpointError(f"{file} has about {values} JSON values, expected at most {MOST_JSON_VALUES}")
    try:
        return parse_json(content, unique=True)
    except ValueError as error:
        raise CheckpointError(f"{file} cannot be read as JSON: {error}") from error


def _refuse_holes(file: Path, status: os.stat_result, descriptor: int) -> None:
    """A file of a few bytes on disk can be terabytes to read: what an interrupted download leaves, or a trap."""
    written = status.st_blocks * 512
    if status.st_size <= LARGEST_WITH_HOLES or written * LEAST_WRITTEN >= status.st_size:
        return
    # Some file systems count no blocks; those that know of holes say where the first one is.
    if os.lseek(descriptor, 0, os.SEEK_HOLE) < status.st_size:
        raise CheckpointError(
            f"{file} has {status.st_size} bytes of which {written} were ever written: the download is not complete"
        )
    os.lseek(descriptor, 0, os.SEEK_SET)
