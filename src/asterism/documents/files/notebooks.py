"""Jupyter notebooks: Markdown and code, in the order of the cells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .chunking import Chunking
from .json_files import Lines, NotJson, read_json, split_members
from .markdown import add_markdown
from .notebook_outputs import join_text, read_outputs
from .outline import Outline
from .packing import Piece, pack_passages
from .passages import Passage, Place
from .source import SourceWriter, clean_text, read_as_lines

LONGEST_OUTPUT = 2000  # characters of a cell's output: the rest is seldom worth finding


def read_notebook(text: str, chunking: Chunking) -> Iterator[Passage]:
    """The passages of a notebook; a place is the lines of the cells in the file."""
    cells = _find_cells(text)
    if cells is None:  # not a notebook, or one of before 2015
        return read_json(text, chunking)
    locate = Lines(text).locate
    writer, outline = SourceWriter(), Outline()
    for _, cell, begin, end in cells:
        if isinstance(cell, dict):
            _add_cell(writer, outline, cell, locate(begin, end))
    return pack_passages(writer.finish(), outline.finish(), chunking)


def _find_cells(text: str) -> list[tuple[str, Any, int, int]] | None:
    try:
        for key, value, begin, _ in split_members(text):
            if key == "cells" and isinstance(value, list):
                return split_members(text, text.index("[", begin))
    except NotJson:
        pass
    return None


def _add_cell(writer: SourceWriter, outline: Outline, cell: dict[str, Any], place: Place) -> None:
    source = clean_text(join_text(cell.get("source")))
    if source.strip():
        begin, end = writer.add(source, place)
        if cell.get("cell_type") == "markdown":
            starts = read_as_lines(source).starts
            add_markdown(outline, source, [*(begin + start for start in starts), end])
        else:
            outline.add(Piece(begin, end, "whole"))
    output = read_outputs(cell.get("outputs"), LONGEST_OUTPUT)
    if output:
        outline.add(Piece(*writer.add(output, place), "lines"))
