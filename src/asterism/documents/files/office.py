"""Word documents and presentations."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

from .archives import open_archive
from .chunking import Chunking
from .metadata import take_metadata
from .outline import Outline
from .packing import Piece, Section, pack_passages, shorten_heading
from .passages import Passage, Place
from .source import SourceWriter

HEADING = re.compile(r"(?:heading|überschrift|titre|título) ?([1-9])|(title)", re.IGNORECASE)
DEEPEST = 50  # groups of shapes inside each other
PROPERTIES = ("title", "author", "subject", "keywords", "created", "modified")


def read_docx(data: bytes, chunking: Chunking) -> Iterator[Passage]:
    """The passages of a Word document: sections by the styles of headings; a row of a table is a line."""
    open_archive(data).close()
    import docx

    document = docx.Document(io.BytesIO(data))
    writer, outline = SourceWriter(), Outline((), _read_properties(document.core_properties))
    for block in document.iter_inner_content():
        if hasattr(block, "rows"):
            for line in _read_rows(block):
                outline.add(Piece(*writer.add(line, Place(), "\n"), "lines"))
        elif block.text.strip():
            span = writer.add(block.text, Place())
            level = _find_level(block.style)
            if level is None:
                outline.add(Piece(*span))
            else:
                outline.add_heading(level, block.text, *span)
    return pack_passages(writer.finish(), outline.finish(), chunking)


def read_pptx(data: bytes, chunking: Chunking) -> Iterator[Passage]:
    """The passages of a presentation: a slide with its notes is a section, and its number is the page."""
    open_archive(data).close()
    from pptx import Presentation

    presentation = Presentation(io.BytesIO(data))
    metadata = _read_properties(presentation.core_properties)
    writer, sections = SourceWriter(), []
    for number, slide in enumerate(presentation.slides, 1):
        title = slide.shapes.title
        lines = [line for shape in slide.shapes if shape != title for line in _read_shape(shape, 0)]
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            lines.append(slide.notes_slide.notes_text_frame.text)
        heading = shorten_heading(title.text_frame.text) if title is not None else ""
        lines = [line for line in lines if line.strip()] or [heading]
        pieces = [Piece(*writer.add(line, Place(page=number), "\n")) for line in lines]
        sections.append(Section((heading,) if heading else (), pieces, metadata))
    return pack_passages(writer.finish(), sections, chunking)


def _read_shape(shape: Any, level: int) -> Iterator[str]:
    """The paragraphs of a shape, the rows of a table, and the shapes of a group."""
    if hasattr(shape, "shapes") and level < DEEPEST:
        for inner in shape.shapes:
            yield from _read_shape(inner, level + 1)
    elif getattr(shape, "has_table", False):
        yield from _read_rows(shape.table)
    elif getattr(shape, "has_text_frame", False):
        yield from (paragraph.text for paragraph in shape.text_frame.paragraphs)


def _read_rows(table: Any) -> Iterator[str]:
    """A line for each row; a cell that is merged with its neighbour counts once."""
    for row in table.rows:
        cells: list[str] = []
        for cell in row.cells:
            text = " ".join(cell.text.split())
            if text and (not cells or text != cells[-1]):
                cells.append(text)
        if cells:
            yield " | ".join(cells)


def _find_level(style: Any) -> int | None:
    """The level of a heading's style, from 1; 0 for the document's title; None for other styles."""
    found = HEADING.fullmatch(style.name or "") if style is not None else None
    return None if not found else int(found[1] or 0)


def _read_properties(properties: Any) -> dict[str, Any]:
    found = {name: getattr(properties, name, None) for name in PROPERTIES}
    return take_metadata({name: value for name, value in found.items() if value})
