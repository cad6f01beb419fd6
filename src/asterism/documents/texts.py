"""Documents from folders of .txt and .md files, in chunks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from ..errors import DocumentError
from ..files.regular_files import read_regular
from .chunks import cut_chunks, find_first_heading
from .document import Document
from .lines import Located, PathLike, drop_places, make_encoding_error, make_located

TEXT_SUFFIXES = (".txt", ".md")
LARGEST_TEXT = 1 << 28  # bytes of one file


def read_text_folder(path: PathLike) -> Iterator[Document]:
    """Every .txt and .md file in a folder and its subfolders, or a single file, in chunks; text == file[begin:end].

    Names that begin with a dot are skipped. Files are decoded as UTF-8, and newlines are kept.
    """
    return drop_places(read_located_texts(path))


def read_located_texts(path: PathLike) -> Iterator[Located]:
    """The same documents with their FILE:LINE."""
    root = Path(path)
    alone = os.path.isfile(root)
    files = [root.name] if alone else _find_text_files(root)
    if not files:
        raise DocumentError(f"{root}: it has no .txt or .md file, expected at least one")
    for name in files:
        yield from _read_chunks(root if alone else root / name, name)


def _find_text_files(root: Path) -> list[str]:
    """Relative POSIX paths, sorted."""
    found = []

    def refuse(error: OSError) -> NoReturn:
        raise DocumentError(f"{error.filename}: cannot be read ({error.strerror}), expected a folder") from error

    for folder, below, files in os.walk(root, onerror=refuse):
        below[:] = [name for name in below if not name.startswith(".")]
        for name in files:
            path = Path(folder) / name
            special = os.path.exists(path) and not os.path.isfile(path)  # reading a pipe would block
            if not name.startswith(".") and path.suffix.lower() in TEXT_SUFFIXES and not special:
                found.append(path.relative_to(root).as_posix())
    return sorted(found)


def _read_chunks(file: Path, name: str) -> Iterator[Located]:
    try:
        raw = read_regular(file, LARGEST_TEXT, links=True)
        content = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise make_encoding_error(f"{file}:{line}", error) from error
    except OSError as error:
        raise DocumentError(f"{file}:1: cannot be read ({error.strerror}), expected a text file") from error
    title = find_first_heading(content) or Path(name).stem
    line, counted = 1, 0
    for number, (begin, end) in enumerate(cut_chunks(content), 1):
        line, counted = line + content.count("\n", counted, begin), begin
        place = {"path": name, "chunk": number, "begin": begin, "end": end}
        yield make_located(f"{file}:{line}", f"{name}#{number}", content[begin:end], title, place)
