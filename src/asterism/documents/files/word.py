"""Word documents: sections by the styles of headings."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

from .archives import open_archive
from .chunking import Chunking
from .office_properties import read_properties
from .office_text import OPEN_XML, TABLES, WORD, find_blocks, read_lines, read_linked, read_paragraph, read_rows
from .outline import Outline
from .packing import Piece, pack_passages
from .passages import Passage, Place
from .source import SourceWriter
from .xml_trees import parse_xml

HEADING = re.compile(r"(?:heading|überschrift|titre|título) ?([1-9])|(title)", re.IGNORECASE)
NOTES = {f"{WORD}{kind}Reference": kind for kind in ("footnote", "endnote", "comment")}


def read_docx(data: bytes, chunking: Chunking) -> Iterator[Passage]:
    """The passages of a Word document; a row of a table is a line, and notes follow the block that refers to them."""
    open_archive(data).close()
    import docx

    document = docx.Document(io.BytesIO(data))
    levels, links = _find_levels(document.styles.element), document.part.rels
    notes, taken = _find_notes(links), set[str]()
    writer, outline = SourceWriter(), Outline((), read_properties(document.part.package))
    for block in find_blocks(document.element.body):
        if block.tag in TABLES:
            for line in read_rows(block):
                outline.add(Piece(*writer.add(line, Place(), "\n"), "lines"))
        else:
            _add_paragraph(writer, outline, read_paragraph(block), _find_level(block, levels))
            for line in read_lines(block):  # of text boxes
                outline.add(Piece(*writer.add(line, Place())))
        for line in (*read_linked(block, links, taken), *_take_notes(block, notes)):
            outline.add(Piece(*writer.add(line, Place())))
    return pack_passages(writer.finish(), outline.finish(), chunking)


def _add_paragraph(writer: SourceWriter, outline: Outline, text: str, level: int | None) -> None:
    if not text.strip():
        return
    span = writer.add(text, Place())
    if level is None:
        outline.add(Piece(*span))
    else:
        outline.add_heading(level, text, *span)


def _find_levels(styles: Any) -> dict[str, int]:
    """The ids of the styles of headings, and their levels from 1; 0 for the document's title."""
    levels = {}
    for style in styles.iter(f"{WORD}style"):
        name = style.find(f"{WORD}name")
        found = None if name is None else HEADING.fullmatch(name.get(f"{WORD}val", ""))
        if found:
            levels[style.get(f"{WORD}styleId", "")] = int(found[1] or 0)
    return levels


def _find_level(paragraph: Any, levels: dict[str, int]) -> int | None:
    style = paragraph.find(f"{WORD}pPr/{WORD}pStyle")
    return None if style is None else levels.get(style.get(f"{WORD}val"))


def _find_notes(links: Any) -> dict[tuple[str, str | None], Any]:
    """Footnotes, endnotes and comments by their kind and id."""
    notes = {}
    for kind in NOTES.values():
        for link in links.values():
            if link.reltype == f"{OPEN_XML}/officeDocument/2006/relationships/{kind}s" and not link.is_external:
                for note in parse_xml(link.target_part.blob).iter(f"{WORD}{kind}"):
                    notes[kind, note.get(f"{WORD}id")] = note
    return notes


def _take_notes(block: Any, notes: dict[tuple[str, str | None], Any]) -> Iterator[str]:
    """The lines of the notes that a block refers to, each once."""
    for reference in block.iter(*NOTES):
        note = notes.pop((NOTES[reference.tag], reference.get(f"{WORD}id")), None)
        if note is not None:
            yield from read_lines(note)
