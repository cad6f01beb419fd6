"""From a text to the cells of a table, with quotes around cells or without."""

from __future__ import annotations

import csv
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .passages import Place
from .unzipping import MOST_BYTES

MOST_RESUMED = 16  # times that lines are read again because a quote in the first of them is not closed
LIMIT = threading.Lock()  # the csv module has one limit for the whole process

Row = tuple[list[str], Place]


def split_quoted(text: str, delimiter: str) -> tuple[list[Row], bool]:
    """The rows that are not blank, and whether all of them follow the rules for quotes.

    A quote that is not closed would hide the rows up to the next quote, or all that follow: its line is a row.
    """
    lines = text.split("\n")
    rows: list[Row] = []
    begin = resumed = 0
    is_right = True
    with _allow_long_cells():
        while begin < len(lines):
            if resumed < MOST_RESUMED:
                begin, read = _split_strictly(lines, begin, delimiter, rows)
                resumed += read > 1
            if begin < len(lines):
                is_right = False
                (cells,) = csv.reader([lines[begin]], delimiter=delimiter)
                begin += 1
                _add_row(rows, cells, begin, begin)
    return rows, is_right


def _split_strictly(lines: list[str], begin: int, delimiter: str, rows: list[Row]) -> tuple[int, int]:
    """Add rows up to the first that breaks the rules; the line where this one begins, and how many lines it took."""
    following = (lines[number] + "\n" for number in range(begin, len(lines)))
    reader = csv.reader(following, delimiter=delimiter, strict=True)
    first = begin
    try:
        for cells in reader:
            _add_row(rows, cells, first + 1, begin + reader.line_num)
            first = begin + reader.line_num
    except csv.Error:
        return first, begin + reader.line_num - first
    return len(lines), 0


def split_lines(text: str, delimiter: str) -> list[Row]:
    """The rows that are not blank: each is a line. Quotes around a whole cell are taken off."""
    rows: list[Row] = []
    for number, line in enumerate(text.split("\n"), 1):
        _add_row(rows, [_unquote(cell) for cell in line.split(delimiter)], number, number)
    return rows


def _unquote(cell: str) -> str:
    inner = cell[1:-1]
    is_quoted = len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in inner.replace('""', "")
    return inner.replace('""', '"') if is_quoted else cell


def _add_row(rows: list[Row], cells: list[str], first: int, last: int) -> None:
    """Add a row, if it is not blank."""
    cells = [cell.strip() for cell in cells]
    if any(cells):
        rows.append((cells, Place(first, last)))


@contextmanager
def _allow_long_cells() -> Iterator[None]:
    """Raise the limit of the csv module, which is 131,072 characters, to that of a file."""
    with LIMIT:
        before = csv.field_size_limit(MOST_BYTES)
        try:
            yield
        finally:
            csv.field_size_limit(before)
