"""PDF, by PDFium: a passage never crosses a page."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import closing
from threading import Lock
from typing import Any

from ...errors import UnreadableFile
from .chunking import Chunking
from .metadata import take_metadata
from .packing import Piece, Section, pack_passages, shorten_heading
from .passages import Passage, Place
from .source import SourceWriter, clean_text
from .text import split_paragraphs

MOST_PAGES = 20_000
MOST_SECONDS = 120  # after which no further page is begun
ONE_AT_A_TIME = Lock()  # PDFium does not work in several threads
HYPHEN = re.compile("(?<=\\w)[\u00ad\ufffe\x02]\\s*")  # PDFium's marks of words that go on in the next line
LEADERS = re.compile(r"(?: ?\.){4,}")  # dots between a title and its page
FIELDS = {"Title": "title", "Author": "author", "Subject": "subject", "Keywords": "keywords"}


def read_pdf(data: bytes, chunking: Chunking) -> Iterator[Passage]:
    """The passages of each page; a file of pictures alone has none."""
    import pypdfium2

    writer, sections = SourceWriter(), []
    with ONE_AT_A_TIME, closing(pypdfium2.PdfDocument(data)) as document:
        if len(document) > MOST_PAGES:
            raise UnreadableFile("too large", f"{len(document):,} pages, expected at most {MOST_PAGES:,}: split it")
        metadata = _read_metadata(document)
        title = metadata.get("title")
        deadline = time.monotonic() + MOST_SECONDS
        for number in range(len(document)):
            if time.monotonic() > deadline:  # a small file can have pages that take forever
                why = f"{number:,} of {len(document):,} pages took more than {MOST_SECONDS} seconds: split it"
                raise UnreadableFile("too large", why)
            text = _read_page(document, number)
            begin, _ = writer.add(text, Place(page=number + 1))
            pieces = [Piece(begin + p.begin, begin + p.end) for p in split_paragraphs(text, 0, len(text))]
            sections.append(Section((title,) if title else (), pieces, metadata))
    return pack_passages(writer.finish(), sections, chunking)


def _read_page(document: Any, number: int) -> str:
    with closing(document[number]) as page, closing(page.get_textpage()) as text:
        found: str = text.get_text_range()
    found = found.replace("\r\n", "\n").replace("\r", "\n")
    return clean_text(LEADERS.sub(" …", HYPHEN.sub("", found)))


def _read_metadata(document: Any) -> dict[str, Any]:
    given = document.get_metadata_dict(skip_empty=True)
    return take_metadata({name: shorten_heading(given[key]) for key, name in FIELDS.items() if key in given})
