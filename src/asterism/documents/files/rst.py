"""reStructuredText: sections by underlined titles, paragraphs, literal blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .chunking import Chunking
from .outline import Outline
from .packing import Piece, pack_passages
from .passages import Passage
from .source import read_as_lines

ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*\s*")
CODE = re.compile(
    r"\s*\.\. (?:code|code-block|sourcecode|literalinclude|parsed-literal|highlight|math|doctest|testcode)::"
)


def read_rst(text: str, chunking: Chunking) -> Iterator[Passage]:
    """The passages of a reStructuredText file. A character that underlines a title is one level, as in docutils."""
    source = read_as_lines(text)
    lines = text.split("\n")
    starts = [*source.starts, len(text)]
    outline = Outline()
    levels: list[tuple[str, bool]] = []
    number = 0
    while number < len(lines):
        title = _find_title(lines, number)
        if title:
            style, where, end = title
            if style not in levels:
                levels.append(style)
            outline.add_heading(levels.index(style) + 1, lines[where], starts[number], starts[end])
        elif not lines[number].strip():
            end = number + 1  # not a piece: a heading that only blank lines follow is one itself
        else:
            end = _find_block_end(lines, number)
            outline.add(Piece(starts[number], starts[end], "whole" if _is_code(lines, number, end) else "sentences"))
        number = end
    return pack_passages(source, outline.finish(), chunking)


def _find_title(lines: Sequence[str], number: int) -> tuple[tuple[str, bool], int, int] | None:
    """Its style, the line of its text and the line after it, if a title begins here."""
    first = lines[number]
    if not first.strip() or number + 1 >= len(lines):
        return None
    if _is_adornment(first) and number + 2 < len(lines):
        text, under = lines[number + 1], lines[number + 2]
        if text.strip() and under.rstrip() == first.rstrip() and len(text.strip()) <= len(first.rstrip()):
            return (first[0], True), number + 1, number + 3
    under = lines[number + 1]
    is_title = _is_adornment(under) and not first[0].isspace() and not _is_adornment(first)
    return (
        ((under[0], False), number, number + 2)
        if is_title and len(under.rstrip()) >= min(len(first.rstrip()), 4)
        else None
    )


def _is_adornment(line: str) -> bool:
    return len(line.rstrip()) > 1 and ADORNMENT.fullmatch(line) is not None


def _find_block_end(lines: Sequence[str], number: int) -> int:
    """The line after a block: a paragraph, or one that announces code together with the indented lines that follow."""
    end = number
    while end < len(lines) and lines[end].strip() and (end == number or not _find_title(lines, end)):
        end += 1
    if not _announces_code(lines, number, end):
        return end
    indent = _measure(lines[end - 1]) if lines[end - 1].rstrip().endswith("::") else _measure(lines[number])
    last = end
    while end < len(lines) and (not lines[end].strip() or _measure(lines[end]) > indent):
        end += 1
        last = end if lines[end - 1].strip() else last
    return last


def _announces_code(lines: Sequence[str], number: int, end: int) -> bool:
    return lines[end - 1].rstrip().endswith("::") or CODE.match(lines[number]) is not None


def _is_code(lines: Sequence[str], number: int, end: int) -> bool:
    """Whether a block is code, with the line that announces it."""
    blank = next((i for i in range(number, end) if not lines[i].strip()), end)
    return blank < end and blank > number and _announces_code(lines, number, blank)


def _measure(line: str) -> int:
    return len(line) - len(line.lstrip())
