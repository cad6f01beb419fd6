"""What reading a file gives: passages with their titles and places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import UnreadableFile

__all__ = ["FileContent", "Passage", "Place", "UnreadableFile"]

HEADINGS = " › "  # between the headings of a title


@dataclass(frozen=True)
class Place:
    """Where a passage lies in its file.

    first_line, last_line   from 1, both inclusive; in a spreadsheet its rows; None where a format has no lines
    page                    from 1, in formats with pages or slides
    sheet                   its name, in a spreadsheet
    """

    first_line: int | None = None
    last_line: int | None = None
    page: int | None = None
    sheet: str | None = None

    def format(self) -> str:
        """For people: "12–30", "12", "p. 4", "People:12", or nothing."""
        if self.page is not None:
            return f"p. {self.page}"
        if self.first_line is None:
            return ""
        sheet = f"{self.sheet}:" if self.sheet else ""
        last = "" if self.last_line == self.first_line else f"–{self.last_line}"
        return f"{sheet}{self.first_line}{last}"


@dataclass(frozen=True)
class Passage:
    """A part of a file that is found by itself.

    text       may not be empty; without NULs and halves of surrogate pairs
    title      headings from the outermost, "Guide › Install › Linux"; the file's name if there is none
    place      where it lies in the file
    metadata   front matter, columns, fields: JSON within the limits of a Document
    """

    text: str
    title: str
    place: Place
    metadata: Mapping[str, Any]


@dataclass(frozen=True)
class FileContent:
    """All passages of a file, in its order.

    format     such as "markdown", "html" or "python"
    encoding   if the file is a text, but not UTF-8: "latin-1", "utf-16", …
    """

    format: str
    encoding: str | None
    passages: tuple[Passage, ...]
