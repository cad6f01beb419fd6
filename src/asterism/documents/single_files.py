"""Documents from an ordinary file that was given by its name: one for each passage, as of a file in a folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..errors import DocumentError, UnreadableFile
from .document import Document
from .files.chunking import Chunking
from .files.documents import make_documents
from .files.reading import find_format, read_file
from .folders.names import escape_name
from .folders.skipping import SkippedFile, Unusable
from .folders.taking import take_file
from .lines import Located, PathLike


@dataclass(frozen=True)
class SingleFile:
    """What a file has. name: without its folder, escaped · encoding: if it is a text, but not UTF-8."""

    path: str
    name: str
    encoding: str | None
    documents: tuple[Document, ...]

    def locate(self) -> list[Located]:
        """The documents with their FILE:LINE."""
        return [(f"{self.path}:{one.metadata.get('lines', [1])[0]}", one) for one in self.documents]


def name_single_file(path: PathLike) -> str:
    """The name that a file has in an index: without its folder, escaped."""
    return escape_name(os.path.basename(os.fspath(path)))


def read_single_file(path: PathLike, chunking: Chunking | None = None) -> SingleFile:
    """Read a file of any format; the path may be a link. A file that cannot be read is a DocumentError."""
    given = os.fspath(path)
    name = name_single_file(given)
    try:
        taken = take_file(Path(os.path.realpath(path)), find_format(name) is not None)
        if taken.is_binary:
            raise Unusable("binary")
        content = read_file(name, taken.data, chunking or Chunking())
        return SingleFile(given, name, content.encoding, tuple(make_documents(name, content)))
    except Unusable as error:
        why = SkippedFile(given, error.reason, error.detail).explanation
        raise DocumentError(f"{given}: {why}, expected a file that can be read") from error
    except UnreadableFile as error:
        raise UnreadableFile(error.reason, f"{given}: {str(error).removeprefix(f'{name}: ')}") from error
    except DocumentError as error:
        raise DocumentError(f"{given}: {error}") from error
