"""PDF, by PDFium: a passage never crosses a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...errors import UnreadableFile
from .chunking import Chunking
from .metadata import take_metadata
from .packing import Piece, Section, pack_passages, shorten_heading
from .passages import Passage, Place
from .source import SourceWriter, clean_text
from .text import split_paragraphs

MOST_PAGES = 20_000
HYPHEN = re.compile("(?<=\\w)[\u00ad\ufffe\x02]\\s*")  # PDFium's marks of words that go on in the next line
LEADERS = re.compile(r"(?: ?\.){4,}")  # dots between a title and its page
FIELDS = {"Title": "title", "Author": "author", "Subject": "subject", "Keywords": "keywords"}


def read_pdf(data: bytes, chunking: Chunking) -> Iterator[Passage]:
    """The passages of each page; a file with a password, or of pictures alone, has none."""
    import pypdfium2

    document = pypdfium2.PdfDocument(data)
    try:
        if len(document) > MOST_PAGES:
            raise UnreadableFile("too large", f"{len(document):,} pages, expected at most {MOST_PAGES:,}: split it")
        metadata = _read_metadata(document)
        title = metadata.get("title")
        writer, sections = SourceWriter(), []
        for number in range(len(document)):
            text = _read_page(document, number)
            begin, _ = writer.add(text, Place(page=number + 1))
            pieces = [Piece(begin + p.begin, begin + p.end) for p in split_paragraphs(text, 0, len(text))]
            sections.append(Section((title,) if title else (), pieces, metadata))
    finally:
        document.close()
    return pack_passages(writer.finish(), sections, chunking)


def _read_page(document: Any, number: int) -> str:
    page = document[number]
    try:
        text = page.get_textpage()
        try:
            found: str = text.get_text_range()
        finally:
            text.close()
    finally:
        page.close()
    found = found.replace("\r\n", "\n").replace("\r", "\n")
    return clean_text(LEADERS.sub(" …", HYPHEN.sub("", found)))


def _read_metadata(document: Any) -> dict[str, Any]:
    given = document.get_metadata_dict(skip_empty=True)
    return take_metadata({name: shorten_heading(given[key]) for key, name in FIELDS.items() if key in given})
