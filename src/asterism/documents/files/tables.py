"""Tables with a header: each row is a passage."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from .chunking import Chunking
from .passages import Passage
from .records import WRITTEN, pack_records
from .rows import Row, split_lines, split_quoted

DELIMITERS = ",;\t|"
NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?")


def read_csv(text: str, chunking: Chunking) -> Iterator[Passage]:
    """The rows of comma-separated values, or of those with semicolons, tabs or bars, whichever the first line has."""
    header = text[: text.find("\n")] if "\n" in text else text
    return pack_table(split_quoted(text, max(DELIMITERS, key=header.count))[0], chunking)


def read_tsv(text: str, chunking: Chunking) -> Iterator[Passage]:
    """The rows of tab-separated values: a row is a line, unless only quotes around newlines make the rows equally long.

    Most programs write a quote as it is, and one at the beginning of a cell must not hide the rows that follow.
    """
    rows = split_lines(text, "\t")
    if not _are_equally_long(rows):
        quoted, is_right = split_quoted(text, "\t")
        rows = quoted if is_right and _are_equally_long(quoted) else rows
    return pack_table(rows, chunking)


def pack_table(rows: Sequence[Row], chunking: Chunking) -> Iterator[Passage]:
    """The passages of rows of which the first may be a header."""
    columns = _name_columns(rows[0][0]) if rows else []
    return _pack_rows(columns, rows[1:] if rows and columns == rows[0][0] else rows, chunking)


def _are_equally_long(rows: Sequence[Row]) -> bool:
    return len({len(cells) for cells, _ in rows}) <= 1


def _pack_rows(columns: Sequence[str], rows: Sequence[Row], chunking: Chunking) -> Iterator[Passage]:
    """The passages of rows of text; a column of numbers alone has numbers in the metadata, but a text stays a text."""
    numeric = [name.lower() not in WRITTEN and _is_numeric(rows, number) for number, name in enumerate(columns)]
    return pack_records(((_make_record(columns, numeric, cells), place) for cells, place in rows), chunking)


def _name_columns(first: list[str]) -> list[str]:
    """The cells of the first row if they are names: all different, none empty or a number. Else numbers."""
    is_header = all(first) and len(set(first)) == len(first) and not any(map(NUMBER.fullmatch, first))
    return first if is_header else [f"column {number}" for number in range(1, len(first) + 1)]


def _is_numeric(rows: Sequence[Row], column: int) -> bool:
    given = [cells[column] for cells, _ in rows if column < len(cells) and cells[column]]
    return bool(given) and all(map(NUMBER.fullmatch, given))


def _make_record(columns: Sequence[str], numeric: Sequence[bool], cells: Sequence[str]) -> dict[str, Any]:
    """Column -> cell, without empty ones; cells beyond the columns are joined to the last."""
    if len(cells) > len(columns):
        cells = [*cells[: len(columns) - 1], " ".join(cells[len(columns) - 1 :])]
    record: dict[str, Any] = {}
    for number, cell in enumerate(cells):
        if cell:
            is_number = numeric[number] and NUMBER.fullmatch(cell)
            record[columns[number]] = (float(cell) if "." in cell else int(cell)) if is_number else cell
    return record
