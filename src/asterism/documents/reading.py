"""Documents from files: JSON lines in BEIR form, tab-separated lines, passages of any other file; in order.

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
from .lines import STDIN, Located, PathLike, drop_places, is_stdin
from .single_files import read_single_file
from .tsv import read_located_tsv, read_tsv

__all__ = [
    "STDIN",
    "Located",
    "is_ordinary_file",
    "read_documents",
    "read_jsonl",
    "read_located_documents",
    "read_located_jsonl",
    "read_located_tsv",
    "read_tsv",
]

JSON_LINES, TSV = (".jsonl", ".json"), ".tsv"
ACCEPTED = (
    "a .jsonl, .json or .tsv file (also with .gz), any other file that can be read, a folder with corpus.jsonl[.gz], "
    "or - for JSON lines from standard input"
)


def read_documents(path: PathLike) -> Iterator[Document]:
    """The documents at `path`; its name says whether they are JSON lines, tab-separated lines or a BEIR folder.

    Any other file gives a document for each passage, as in `Retriever.sync`, which reads folders of such files. "-"
    stands for JSON lines from stdin.
    """
    return drop_places(read_located_documents(path))


def read_located_documents(path: PathLike) -> Iterator[Located]:
    """The same documents with their FILE:LINE."""
    reader, source = _choose_reader(path)
    return reader(source)


def is_ordinary_file(path: PathLike) -> bool:
    """Whether the path leads to a file whose name does not say that it has a document in each line."""
    return os.path.isfile(path) and not _drop_gzip(path).endswith((*JSON_LINES, TSV))


def _choose_reader(path: PathLike) -> tuple[Callable[[PathLike], Iterator[Located]], PathLike]:
    """The function that reads `path`, and its argument."""
    if not isinstance(path, str | os.PathLike):
        raise DocumentError(f"path is a {type(path).__name__}, expected a path, or - for standard input")
    if is_stdin(path):
        return read_located_jsonl, path
    source = Path(path)
    kind = _find_kind(source)
    if kind == stat.S_IFDIR:
        for name in ("corpus.jsonl", "corpus.jsonl.gz"):
            if os.path.lexists(source / name):  # a special file is refused later, not skipped
                return read_located_jsonl, source / name
        advice = "Retriever.sync and the commands `index`, `add` and `sync` read folders of other files"
        raise DocumentError(f"{source} is a folder without corpus.jsonl, expected {ACCEPTED}; {advice}")
    if kind != stat.S_IFREG:
        raise DocumentError(f"{source} is a {KINDS.get(kind, 'special file')}, expected {ACCEPTED}")
    plain = _drop_gzip(source)
    if plain.endswith(JSON_LINES):
        return read_located_jsonl, source
    return (read_located_tsv if plain.endswith(TSV) else _read_located_passages), source


def _drop_gzip(path: PathLike) -> str:
    return Path(path).name.lower().removesuffix(".gz")


def _read_located_passages(path: PathLike) -> Iterator[Located]:
    yield from read_single_file(path).locate()


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
