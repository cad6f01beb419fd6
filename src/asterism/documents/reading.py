"""Documents from files: JSON lines in BEIR form, tab-separated lines, folders of texts; one at a time, in order.

Every error is a DocumentError that begins with the file and the line.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from ..errors import DocumentError
from ..files.regular_files import KINDS
from .document import Document
from .jsonl import read_jsonl, read_located_jsonl
from .lines import STDIN, Located, PathLike, drop_places, is_stdin, read_raw_lines
from .texts import TEXT_SUFFIXES, read_located_texts, read_text_folder
from .tsv import is_header, read_located_tsv, read_tsv

__all__ = [
    "STDIN",
    "Located",
    "count_documents",
    "read_documents",
    "read_jsonl",
    "read_located_documents",
    "read_located_jsonl",
    "read_located_tsv",
    "read_text_folder",
    "read_tsv",
]

ACCEPTED = (
    "a .jsonl, .json or .tsv file (also with .gz), a .txt or .md file, a folder of those texts, "
    "a folder with corpus.jsonl[.gz], or - for JSON lines from standard input"
)


def read_documents(path: PathLike) -> Iterator[Document]:
    """The documents at `path`; its name says whether they are JSON lines, tab-separated lines, texts or a BEIR folder.

    "-" stands for JSON lines from stdin.
    """
    return drop_places(read_located_documents(path))


def read_located_documents(path: PathLike) -> Iterator[Located]:
    """The same documents with their FILE:LINE."""
    reader, source = _choose_reader(path)
    return reader(source)


def count_documents(path: PathLike) -> int | None:
    """How many documents `read_documents` yields; None if this is only known after reading them."""
    try:
        reader, source = _choose_reader(path)
        if reader is read_located_texts or is_stdin(path) or not Path(source).is_file():
            return None
        lines = read_raw_lines(source)
        first = next(lines, None)
        if first is None:
            return 0
        header = reader is read_located_tsv and is_header(first[1].decode("utf-8", "replace").split("\t"))
        return sum(1 for _ in lines) + (not header)
    except DocumentError:
        return None


def _choose_reader(path: PathLike) -> tuple[Callable[[PathLike], Iterator[Located]], PathLike]:
    """The function that reads `path`, and its argument."""
    if is_stdin(path):
        return read_located_jsonl, path
    source = Path(path)
    kind = _find_kind(source)
    if kind == stat.S_IFDIR:
        for name in ("corpus.jsonl", "corpus.jsonl.gz"):
            if os.path.lexists(source / name):  # a special file is refused later, not skipped
                return read_located_jsonl, source / name
        return read_located_texts, source
    if kind != stat.S_IFREG:
        raise DocumentError(f"{source} is a {KINDS.get(kind, 'special file')}, expected {ACCEPTED}")
    plain = source.name.lower().removesuffix(".gz")
    if plain.endswith((".jsonl", ".json")):
        return read_located_jsonl, source
    if plain.endswith(".tsv"):
        return read_located_tsv, source
    if source.suffix.lower() in TEXT_SUFFIXES:
        return read_located_texts, source
    raise DocumentError(f"{source} is not of a known kind, expected {ACCEPTED}")


def _find_kind(source: Path) -> int:
    """The type of file that the path leads to."""
    try:
        return stat.S_IFMT(os.stat(source).st_mode)
    except FileNotFoundError:
        why = "is a broken link" if source.is_symlink() else "does not exist"
        raise DocumentError(f"{source} {why}, expected {ACCEPTED}") from None
    except (OSError, ValueError) as error:  # ValueError: the path has a NUL
        why = getattr(error, "strerror", None) or str(error)
        raise DocumentError(f"{source} cannot be read ({why}), expected {ACCEPTED}") from error
