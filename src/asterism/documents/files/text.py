"""Plain text: paragraphs between blank lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .chunking import Chunking
from .packing import Piece, Section, pack_passages
from .passages import Passage
from .source import read_as_lines

BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")


def read_text(text: str, chunking: Chunking) -> Iterator[Passage]:
    """The passages of a text, in which paragraphs stay together as far as the limit allows."""
    source = read_as_lines(text)
    return pack_passages(source, [Section((), list(split_paragraphs(text, 0, len(text))))], chunking)


def split_paragraphs(text: str, begin: int, end: int) -> Iterator[Piece]:
    """The paragraphs of a span."""
    for found in BLANK_LINES.finditer(text, begin, end):
        yield Piece(begin, found.start())
        begin = found.end()
    if begin < end:
        yield Piece(begin, end)
