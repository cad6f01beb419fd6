"""A file's text and where each part of it lies in the file."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from .passages import Place
from .unzipping import check_size

NEWLINE = re.compile(r"\n")
SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Source:
    """A text in parts that have a place each.

    text     all parts
    starts   (parts,) where each begins in the text, ascending
    places   (parts,) where each lies in the file
    """

    text: str
    starts: Sequence[int]
    places: Sequence[Place]

    def locate(self, begin: int, end: int) -> Place:
        """The place of a span that is not empty."""
        first = self.places[max(0, bisect_right(self.starts, begin) - 1)]
        last = self.places[max(0, bisect_right(self.starts, end - 1) - 1)]
        return Place(first.first_line, last.last_line, first.page)


class LinePlaces(Sequence[Place]):
    """The places of a text that is the file itself: each line is a part."""

    def __init__(self, lines: int) -> None:
        """`lines` is their number."""
        self._lines = lines

    def __len__(self) -> int:
        """Lines."""
        return self._lines

    def __getitem__(self, number: int) -> Place:  # type: ignore[override]  # never a slice
        """The place of line `number`, from 0."""
        return Place(number + 1, number + 1)


def read_as_lines(text: str) -> Source:
    """The source of a text that is the file itself."""
    starts = [0, *(found.end() for found in NEWLINE.finditer(text))]
    return Source(text, starts, LinePlaces(len(starts)))


@dataclass
class SourceWriter:
    """Collects the parts of a text that is not the file itself, but made from it."""

    _texts: list[str] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)
    _places: list[Place] = field(default_factory=list)
    _length: int = 0

    def add(self, text: str, place: Place, separator: str = "\n\n") -> tuple[int, int]:
        """Append a part and return its span; the separator comes before it, if it is not the first."""
        text = clean_text(text)
        before = separator if self._texts else ""
        begin = self._length + len(before)
        self._texts += [before, text]
        self._starts.append(begin)
        self._places.append(place)
        self._length = begin + len(text)
        check_size(self._length)  # a file can repeat what it has once: a name in every row, a string in every cell
        return begin, self._length

    def finish(self) -> Source:
        """The source of all parts."""
        return Source("".join(self._texts), self._starts, self._places or [Place()])


def clean_text(text: str) -> str:
    """The text without NULs; halves of surrogate pairs, which JSON can spell, are replaced."""
    if not text.isascii():
        text = SURROGATES.sub("\ufffd", text)
    return text.replace("\0", "") if "\0" in text else text
