"""Spreadsheets: a place names its sheet, and a sheet that is a chart does no harm."""

from __future__ import annotations

import io
import re
import zipfile

import xlsxwriter

from asterism.documents.files.chunking import Chunking
from asterism.documents.files.documents import make_documents
from asterism.documents.files.reading import read_file

from .made_files import make_xlsx, make_zip


def test_the_metadata_name_the_sheet() -> None:
    documents = make_documents("notes/a.xlsx", read_file("a.xlsx", make_xlsx(), Chunking()))
    where = [(document.metadata["sheet"], document.metadata["lines"]) for document in documents]
    assert where == [("People", [2, 2]), ("People", [3, 3]), ("Notes", [4, 4])]


def test_a_column_called_sheet_is_kept() -> None:
    stream = io.BytesIO()
    with xlsxwriter.Workbook(stream, {"in_memory": True}) as book:
        people = book.add_worksheet("People")
        people.write_row(0, 0, ("name", "sheet"))
        people.write_row(1, 0, ("Ada", "white"))
    (document,) = make_documents("a.xlsx", read_file("a.xlsx", stream.getvalue(), Chunking()))
    assert (document.metadata["sheet"], document.metadata["sheet_"]) == ("People", "white")


def test_a_sheet_for_a_chart_without_a_chart() -> None:
    stream = io.BytesIO()
    with xlsxwriter.Workbook(stream, {"in_memory": True}) as book:
        chart = book.add_chart({"type": "line"})
        book.add_chartsheet("Chart").set_chart(chart)
        chart.add_series({"values": "=People!$A$2:$A$3"})
        book.add_worksheet("People").write_column(0, 0, ("name", "Ada", "Ole"))
    archive = zipfile.ZipFile(stream)
    members = {name: archive.read(name) for name in archive.namelist() if "chartsheets/_rels" not in name}
    sheet = "xl/chartsheets/sheet1.xml"
    empty = make_zip({**members, sheet: re.sub(rb"<drawing[^>]*/>", b"", members[sheet])})
    for data in (stream.getvalue(), empty):
        content = read_file("a.xlsx", data, Chunking())
        assert [passage.text for passage in content.passages] == ["name: Ada", "name: Ole"]
