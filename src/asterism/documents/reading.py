"""Documents from files: JSON lines in BEIR form, tab-separated lines, folders of texts. One at a time, in order.

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
    """What there is at `path`, by its name: JSON lines, tab-separated lines, texts, a BEIR folder; "-" is stdin."""
    return drop_places(read_located_documents(path))


def read_located_documents(path: PathLike) -> Iterator[Located]:
    """The same, each with its FILE:LINE."""
    reader, source = _choose_reader(path)
    return reader(source)


def count_documents(path: PathLike) -> int | None:
    """How many documents `read_documents` will give; None where only reading them tells."""
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
    """The function that reads `path`, and what to call it with."""
    if is_stdin(path):
        return read_located_jsonl, path
    source = Path(path)
    kind = _find_kind(source)
    if kind == stat.S_IFDIR:
        for name in ("corpus.jsonl", "corpus.jsonl.gz"):
            if os.path.lexists(source / name):  # what is no regular file is refused, not passed over
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
    raise DocumentError(f"{source} is of a kind that is not known, expected {ACCEPTED}")


def _find_kind(source: Path) -> int:
    """Of what the path leads to."""
    try:
        return stat.S_IFMT(os.stat(source).st_mode)
    except FileNotFoundError:
        why = "is a link to nothing" if source.is_symlink() else "does not exist"
        raise DocumentError(f"{source} {why}, expected {ACCEPTED}") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in it
        why = getattr(error, "strerror", None) or str(error)
        raise DocumentError(f"{source} cannot be read ({why}), expected {ACCEPTED}") from error
