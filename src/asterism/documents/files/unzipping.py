"""Compressed content that may be a bomb: it is never larger in memory than the limit."""

from __future__ import annotations

import gzip
import io
import zlib

from ...errors import UnreadableFile

MOST_BYTES = 1 << 26  # of a file's content, unzipped


def unzip(data: bytes) -> bytes:
    """The content of a gzip file."""
    try:
        content = gzip.GzipFile(fileobj=io.BytesIO(data)).read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableFile("damaged", f"not a complete gzip file ({error}): get it again") from error
    check_size(len(content))
    return content


def check_size(size: int) -> None:
    """Refuse a content that is too large."""
    if size > MOST_BYTES:
        raise UnreadableFile("too large", f"more than {MOST_BYTES >> 20} MiB, expected at most that: split it")
