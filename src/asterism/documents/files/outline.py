"""Pieces under headings, collected in the order of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .packing import LONGEST_HEADING, Piece, Section, shorten_heading


class Outline:
    """Makes sections of headings and pieces."""

    def __init__(self, root: tuple[str, ...] = (), metadata: Mapping[str, Any] | None = None) -> None:
        """`root` comes before all headings; the metadata are those of every section."""
        self._root = root
        self._metadata = metadata or {}
        self._open: list[tuple[int, str]] = []  # level and text of the headings above
        self._heading: Piece | None = None  # of the last section
        self._sections = [Section(root, [], self._metadata)]

    @property
    def pieces(self) -> list[Piece]:
        """Those under the last heading so far."""
        return self._sections[-1].pieces

    def add(self, piece: Piece) -> None:
        """Append a piece to the last section."""
        self.pieces.append(piece)

    def add_heading(self, level: int, text: str, begin: int, end: int) -> None:
        """Begin a section; the span is where the heading stands."""
        self._close(level)
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        self._open.append((level, shorten_heading(text)))
        headings = (*self._root, *(heading for _, heading in self._open if heading))
        self._heading = Piece(begin, end)
        cut_short = [self._heading] if len(text) > LONGEST_HEADING else []
        self._sections.append(Section(headings, cut_short, self._metadata))

    def finish(self) -> list[Section]:
        """All sections."""
        self._close(0)
        return self._sections

    def _close(self, next_level: int) -> None:
        """A heading that would be in no title, because nothing follows it, is a piece of its own."""
        if self._heading and not self.pieces and self._open[-1][0] >= next_level:
            self.add(self._heading)
