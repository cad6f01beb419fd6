"""Tables with a header: each row is a passage."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from typing import Any

from .chunking import Chunking
from .passages import Passage, Place
from .records import WRITTEN, pack_records
from .text import read_text

DELIMITERS = ",;\t|"
NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?")

Row = tuple[list[str], Place]


def read_csv(text: str, chunking: Chunking) -> Iterator[Passage]:
    """The rows of comma-separated values, or of those with semicolons, tabs or bars, whichever the first line has."""
    header = text[: text.find("\n")] if "\n" in text else text
    return _read_rows(text, max(DELIMITERS, key=header.count), chunking)


def read_tsv(text: str, chunking: Chunking) -> Iterator[Passage]:
    """The rows of tab-separated values."""
    return _read_rows(text, "\t", chunking)


def _read_rows(text: str, delimiter: str, chunking: Chunking) -> Iterator[Passage]:
    try:
        rows = list(_split_rows(text, delimiter))
    except csv.Error:  # a quote without end, or a cell of more than 131,072 characters: not a table
        return read_text(text, chunking)
    cells = [cells for cells, _ in rows]
    columns = name_columns(cells[0]) if cells else []
    if cells and columns == cells[0]:
        rows = rows[1:]
    return pack_rows(columns, rows, chunking)


def pack_rows(columns: Sequence[str], rows: Sequence[Row], chunking: Chunking) -> Iterator[Passage]:
    """The passages of rows of text; a column of numbers alone has numbers in the metadata, but a text stays a text."""
    numeric = [name.lower() not in WRITTEN and _is_numeric(rows, number) for number, name in enumerate(columns)]
    return pack_records(((_make_record(columns, numeric, cells), place) for cells, place in rows), chunking)


def _split_rows(text: str, delimiter: str) -> Iterator[Row]:
    """The cells of every row that is not blank, and its lines."""
    reader = csv.reader((line + "\n" for line in text.split("\n")), delimiter=delimiter)
    before = 0
    for cells in reader:
        cells = [cell.strip() for cell in cells]
        if any(cells):
            yield cells, Place(before + 1, reader.line_num)
        before = reader.line_num


def name_columns(first: list[str]) -> list[str]:
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
