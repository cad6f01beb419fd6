"""Spreadsheets: each row of a sheet is a passage, and the places are rows."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ...errors import UnreadableFile
from .archives import open_archive
from .chunking import Chunking
from .passages import HEADINGS, Passage, Place
from .tables import Row, name_columns, pack_rows

MOST_CELLS = 1 << 24  # of a sheet: a cell at its far corner makes it large
ZIP = b"PK"


def read_spreadsheet(data: bytes, chunking: Chunking) -> Iterator[Passage]:
    """The passages of all sheets; a title begins with the name of its sheet."""
    if data.startswith(ZIP):  # all but the format of before 2007
        open_archive(data).close()
    from python_calamine import CalamineWorkbook

    with CalamineWorkbook.from_filelike(io.BytesIO(data)) as workbook:
        for name in workbook.sheet_names:
            for passage in _read_sheet(workbook.get_sheet_by_name(name), chunking):
                yield replace(passage, title=HEADINGS.join(filter(None, (name, passage.title))))


def _read_sheet(sheet: Any, chunking: Chunking) -> Iterator[Passage]:
    if sheet.total_height * sheet.total_width > MOST_CELLS:
        raise UnreadableFile("too large", f"a sheet of more than {MOST_CELLS:,} cells, expected at most that: split it")
    top = sheet.start[0] if sheet.start else 0
    rows: list[Row] = []
    for number, cells in enumerate(sheet.to_python(skip_empty_area=True), top + 1):
        texts = [_write_cell(cell) for cell in cells]
        if any(texts):
            rows.append((texts, Place(number, number)))
    columns = name_columns(rows[0][0]) if rows else []
    return pack_rows(columns, rows[1:] if rows and columns == rows[0][0] else rows, chunking)


def _write_cell(cell: Any) -> str:
    """A cell as a text: whole numbers without a point, dates in ISO 8601."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        cell = int(cell)
    return cell.isoformat() if hasattr(cell, "isoformat") else str(cell).strip()
