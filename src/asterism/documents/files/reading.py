"""From the bytes of a file to its passages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ...errors import UnreadableFile
from .chunking import Chunking
from .decoding import decode_text
from .names import CODE, WITHOUT_READER, drop_gzip, find_format, find_stem, find_suffix
from .passages import HEADINGS, FileContent, Passage
from .text import read_text
from .unzipping import check_size, unzip

__all__ = ["find_format", "read_file"]

TextReader = Callable[[str, Chunking], Iterable[Passage]]

TEXT_READERS: dict[str, TextReader] = {"text": read_text}


def read_file(name: str, data: bytes, chunking: Chunking) -> FileContent:
    """The passages of a file; its name says the format, and one that says nothing is read as text.

    Raises UnreadableFile and nothing else, whatever the bytes are. The same bytes give the same passages.
    """
    plain = drop_gzip(name)
    format = find_format(name) or "text"
    if find_suffix(plain) in WITHOUT_READER:
        raise UnreadableFile("not known", f"{name}: there is no reader of .{find_suffix(plain)} files: leave it out")
    if plain != name:
        data = unzip(name, data)
    check_size(name, len(data))
    text, encoding = decode_text(name, data)
    passages = TEXT_READERS.get(format, read_text)(text, chunking)
    stem = find_stem(name)
    return FileContent(format, encoding, tuple(_complete_title(passage, stem, format) for passage in passages))


def _complete_title(passage: Passage, stem: str, format: str) -> Passage:
    """Where there is no heading, the title is the file's name; in source code it comes first."""
    if passage.title and format not in CODE:
        return passage
    return replace(passage, title=HEADINGS.join(filter(None, (stem, passage.title))))
