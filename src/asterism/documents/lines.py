"""Lines of files and of stdin with their places: every message begins with FILE:LINE."""

from __future__ import annotations

import codecs
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, Any

from ..errors import DocumentError
from ..files.bounded_lines import LineTooLong, open_unzipped, read_bounded_lines
from ..files.regular_files import stream_regular
from .document import Document

PathLike = str | os.PathLike[str]
Located = tuple[str, Document]  # FILE:LINE and the document

STDIN = "<stdin>"  # in messages


def is_stdin(path: PathLike) -> bool:
    """Whether `path` stands for standard input."""
    return os.fspath(path) == "-"


def read_raw_lines(path: PathLike, name: str = "") -> Iterator[tuple[str, bytes]]:
    """FILE:LINE and the bytes of every line that is not blank, unzipped, without newline and BOM."""
    name = name or (STDIN if is_stdin(path) else os.fspath(path))
    number = 0
    try:
        with _open_stream(path) as stream:
            for raw in read_bounded_lines(open_unzipped(stream)):
                number += 1
                line = raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw
                if line.strip():
                    yield f"{name}:{number}", line.rstrip(b"\r\n")
    except LineTooLong as error:
        raise DocumentError(f"{name}:{number + 1}: {error}") from error
    except (EOFError, OSError, zlib.error) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise DocumentError(f"{name}:{number + 1}: cannot be read ({why}): is the file there and complete?") from error


def _open_stream(path: PathLike) -> AbstractContextManager[IO[bytes]]:
    """A file, which is closed at the end, or stdin, which stays open."""
    return nullcontext(sys.stdin.buffer) if is_stdin(path) else stream_regular(Path(path), links=True)


def read_lines(path: PathLike, name: str = "") -> Iterator[tuple[str, str]]:
    """FILE:LINE and the text of every line that is not blank."""
    for where, raw in read_raw_lines(path, name):
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise make_encoding_error(where, error) from error
        yield where, line


def make_encoding_error(where: str, error: UnicodeDecodeError) -> DocumentError:
    """The error for bytes that are not UTF-8."""
    return DocumentError(
        f"{where}: not UTF-8 (byte 0x{error.object[error.start]:02x} at position {error.start}), expected UTF-8: "
        "convert the file, for example with iconv"
    )


def make_located(where: str, id: str, text: str, title: str, metadata: dict[str, Any]) -> Located:
    """A document with its place; errors begin with the place."""
    try:
        return where, Document(id, text, title, metadata)
    except DocumentError as error:
        raise DocumentError(f"{where}: {error}") from error


def drop_places(located: Iterable[Located]) -> Iterator[Document]:
    """The documents without their places."""
    return (document for _, document in located)
