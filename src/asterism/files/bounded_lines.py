"""Lines of files that somebody else may have written: plain or gzip, and none longer than memory allows."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from typing import Any, BinaryIO

LONGEST_LINE = 1 << 26  # bytes, unzipped
GZIP_MAGIC = b"\x1f\x8b"


class LineTooLong(ValueError):
    """A line that is longer than any that is meant to be read."""


def open_unzipped(stream: Any) -> io.BufferedIOBase:
    """A binary stream; what is in it if it begins as gzip does."""
    if not hasattr(stream, "peek"):  # a stand-in for stdin
        stream = io.BufferedReader(stream)
    if stream.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC):
        return gzip.GzipFile(fileobj=stream)
    plain: io.BufferedIOBase = stream
    return plain


def read_bounded_lines(stream: io.BufferedIOBase | BinaryIO) -> Iterator[bytes]:
    """Every line with its end; one that is too long raises LineTooLong before it is in memory."""
    while line := stream.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise LineTooLong(f"the line has more than {LONGEST_LINE:,} bytes, expected at most that: split it")
        yield line
