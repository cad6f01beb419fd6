"""Lines of files from unknown sources: plain or gzip, with a limit on the length of a line."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from typing import Any, BinaryIO

LONGEST_LINE = 1 << 26  # bytes, unzipped
GZIP_MAGIC = b"\x1f\x8b"


class LineTooLong(ValueError):
    """A line is longer than LONGEST_LINE."""


def open_unzipped(stream: Any) -> io.BufferedIOBase:
    """The stream itself, or its unzipped content if it begins like a gzip file."""
    if not hasattr(stream, "peek"):  # a replacement of stdin
        stream = io.BufferedReader(stream)
    if stream.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC):
        return gzip.GzipFile(fileobj=stream)
    plain: io.BufferedIOBase = stream
    return plain


def read_bounded_lines(stream: io.BufferedIOBase | BinaryIO) -> Iterator[bytes]:
    """Every line with its newline; a line that is too long raises LineTooLong before it is in memory."""
    while line := stream.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise LineTooLong(f"the line has more than {LONGEST_LINE:,} bytes, expected at most that: split it")
        yield line
