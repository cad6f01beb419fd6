"""Presentations: a slide with its notes is a section, and its number is the page."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from .archives import open_archive
from .chunking import Chunking
from .office_properties import read_properties
from .office_text import read_lines, read_linked
from .packing import LONGEST_HEADING, Piece, Section, pack_passages, shorten_heading
from .passages import Passage, Place
from .source import SourceWriter


def read_pptx(data: bytes, chunking: Chunking) -> Iterator[Passage]:
    """The passages of a presentation; titles are those of the slides."""
    open_archive(data).close()
    from pptx import Presentation

    presentation = Presentation(io.BytesIO(data))
    metadata = read_properties(presentation.part.package)
    writer, sections, taken = SourceWriter(), [], set[str]()
    for number, slide in enumerate(presentation.slides, 1):
        title = slide.shapes.title
        heading = "" if title is None else "\n".join(read_lines(title.element))
        lines = [heading] if len(heading) > LONGEST_HEADING else []
        lines += _read_slide(slide, None if title is None else title.element, taken)
        pieces = [Piece(*writer.add(line, Place(page=number), "\n")) for line in lines or [heading]]
        sections.append(Section((shorten_heading(heading),) if heading else (), pieces, metadata))
    return pack_passages(writer.finish(), sections, chunking)


def _read_slide(slide: Any, title: Any, taken: set[str]) -> Iterator[str]:
    """The lines of all shapes but the title, of diagrams that are not yet taken, and of the notes."""
    for shape in slide.shapes.element:
        if shape is not title:
            yield from read_lines(shape)
    yield from read_linked(slide.element, slide.part.rels, taken)
    notes = slide.notes_slide.notes_placeholder if slide.has_notes_slide else None
    if notes is not None:
        yield from read_lines(notes.element)
