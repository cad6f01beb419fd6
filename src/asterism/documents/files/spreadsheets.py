"""Excel's spreadsheets: each row of a sheet is a passage, and the places are rows."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from .archives import open_archive
from .chunking import Chunking
from .passages import HEADINGS, Passage, Place
from .rows import Row
from .tables import pack_table


def read_xlsx(data: bytes, chunking: Chunking) -> Iterator[Passage]:
    """The passages of all sheets; a title begins with the name of its sheet. Sheets that are charts have no rows."""
    open_archive(data).close()
    import openpyxl

    with warnings.catch_warnings():  # parts of Excel that have no text
        warnings.simplefilter("ignore")
        reader = openpyxl.reader.excel.ExcelReader(io.BytesIO(data), read_only=True, data_only=True)
        reader.read_chartsheet = lambda sheet, link: None  # it fails where there is no chart
        reader.read()
        for sheet in reader.wb.worksheets:
            for passage in _read_sheet(sheet, chunking):
                title = HEADINGS.join(filter(None, (sheet.title, passage.title)))
                yield replace(passage, title=title, place=replace(passage.place, sheet=sheet.title))


def _read_sheet(sheet: Any, chunking: Chunking) -> Iterator[Passage]:
    sheet.reset_dimensions()  # a file may say that a sheet is larger than it is
    rows: list[Row] = []
    for number, cells in enumerate(sheet.iter_rows(values_only=True), 1):
        texts = [_write_cell(cell) for cell in cells]
        if any(texts):
            rows.append((texts, Place(number, number)))
    empty = min((next(i for i, text in enumerate(texts) if text) for texts, _ in rows), default=0)
    rows = [(texts[empty:], place) for texts, place in rows]
    return pack_table(rows, chunking)


def _write_cell(cell: Any) -> str:
    """A cell as a text: whole numbers without a point, dates in ISO 8601."""
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        cell = int(cell)
    return cell.isoformat() if hasattr(cell, "isoformat") else str(cell).strip()
