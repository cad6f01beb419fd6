"""Sections of pieces become passages: neighbours are joined up to the limit, what is longer is cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from .chunking import TOKEN, Chunking, weigh
from .cutting import cut_after_lines, cut_after_sentences, find_tail
from .passages import HEADINGS, Passage
from .source import Source, clean_text

WHOLE = 4  # times the limit: up to this, a code block stays whole
LONGEST_HEADING = 200  # characters in a title

Cut = Literal["sentences", "lines", "whole"]


@dataclass(frozen=True)
class Piece:
    """A span of a source that is cut only if it is too long.

    cut    where: after sentences, after lines, or "whole": after lines, but only above WHOLE times the limit
    part   its number and their number, if it is a part of what should have stayed whole
    """

    begin: int
    end: int
    cut: Cut = "sentences"
    part: tuple[int, int] | None = None


@dataclass(frozen=True)
class Section:
    """Pieces under one heading, which never share a passage with those of another section."""

    headings: tuple[str, ...]
    pieces: list[Piece]
    metadata: Mapping[str, Any] = field(default_factory=dict)


def pack_passages(source: Source, sections: Iterable[Section], chunking: Chunking) -> Iterator[Passage]:
    """The passages of all sections, in order."""
    for section in sections:
        title = HEADINGS.join(section.headings)
        for pieces in _group_pieces(source.text, section.pieces, chunking):
            begin, end = _trim(source.text, pieces[0].begin, pieces[-1].end)
            if begin < end:
                metadata = dict(section.metadata)
                if pieces[0].part:
                    metadata["part"], metadata["parts"] = pieces[0].part
                yield Passage(source.text[begin:end], title, source.locate(begin, end), metadata)


def shorten_heading(text: str) -> str:
    """A heading on one line, of at most LONGEST_HEADING characters."""
    line = clean_text(" ".join(text[: 8 * LONGEST_HEADING].split()))
    return line if len(line) <= LONGEST_HEADING else line[: LONGEST_HEADING - 1] + "…"


def _group_pieces(text: str, pieces: Iterable[Piece], chunking: Chunking) -> Iterator[list[Piece]]:
    """The pieces of each passage; the last ones are repeated by the next passage as far as the overlap allows."""
    limit, overlap = chunking.tokens * TOKEN, chunking.overlap * TOKEN
    group: list[Piece] = []
    weight = 0
    for piece, added in _fit_pieces(text, pieces, limit, overlap):
        alone = piece.part or (group and group[-1].part)
        if group and (alone or weight + added > limit):
            yield group
            tail = None if alone else _repeat_end(text, group[-1], min(overlap, limit - added))
            weight = weigh(text, tail.begin, tail.end) if tail else 0
            group = [tail] if tail else []
        group.append(piece)
        weight += added
    if group:
        yield group


def _fit_pieces(text: str, pieces: Iterable[Piece], limit: int, overlap: int) -> Iterator[tuple[Piece, int]]:
    """Every piece with its weight; those that are too long are cut."""
    for piece in pieces:
        weight = weigh(text, piece.begin, piece.end)
        if weight <= (WHOLE * limit if piece.cut == "whole" else limit):
            yield piece, weight
            continue
        cut = cut_after_sentences if piece.cut == "sentences" else cut_after_lines
        spans = [span for span in cut(text, piece.begin, piece.end, limit - overlap) if text[slice(*span)].strip()]
        for number, (begin, end) in enumerate(spans, 1):
            part = (number, len(spans)) if piece.cut == "whole" else None
            yield replace(piece, begin=begin, end=end, part=part), weigh(text, begin, end)


def _repeat_end(text: str, piece: Piece, overlap: int) -> Piece | None:
    """The end of a piece that the next passage repeats."""
    if overlap <= 0:
        return None
    if piece.cut == "whole":
        return piece if weigh(text, piece.begin, piece.end) <= overlap else None
    begin = find_tail(text, piece.begin, piece.end, overlap, piece.cut == "lines")
    return replace(piece, begin=begin) if begin < piece.end else None


def _trim(text: str, begin: int, end: int) -> tuple[int, int]:
    """The span without white space at its ends; a whole first line keeps its indentation."""
    part = text[begin:end]
    content = len(part) - len(part.lstrip())
    line = part.rfind("\n", 0, content) + 1
    is_line = line or not begin or text[begin - 1] == "\n"
    return begin + (line if is_line else content), begin + len(part.rstrip())
