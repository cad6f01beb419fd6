"""EPUB: the pages of a book in the order of its spine."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from ...errors import UnreadableFile
from .archives import open_archive
from .chunking import Chunking
from .decoding import decode_text
from .html import HIDDEN, HtmlReader
from .metadata import take_metadata
from .outline import Outline
from .packing import pack_passages, shorten_heading
from .passages import Passage
from .source import SourceWriter
from .xml_trees import parse_xml

CONTAINER = "META-INF/container.xml"
FIELDS = ("title", "creator", "language", "publisher", "date", "subject")


def read_epub(data: bytes, chunking: Chunking) -> Iterator[Passage]:
    """The passages of a book; titles begin with that of the book. Books have neither pages nor lines."""
    with open_archive(data) as archive:
        package = _find_package(archive)
        metadata, pages = _read_package(archive, package)
        title = metadata.get("title")
        writer = SourceWriter()
        outline = Outline((shorten_heading(title),) if isinstance(title, str) else (), metadata)
        for page in pages:
            text, _ = decode_text(archive.read(page))
            HtmlReader(writer, outline, HIDDEN, lines=False).read(text)
    return pack_passages(writer.finish(), outline.finish(), chunking)


def _find_package(archive: zipfile.ZipFile) -> str:
    for root in parse_xml(archive.read(CONTAINER)).iter("{*}rootfile"):
        return str(root.get("full-path"))
    raise UnreadableFile("damaged", f"{CONTAINER} names no package, expected a book: get it again")


def _read_package(archive: zipfile.ZipFile, name: str) -> tuple[dict[str, Any], list[str]]:
    """The book's metadata, and the names of its pages in order, each once."""
    package = parse_xml(archive.read(name))
    fields = {field: next(package.iter(f"{{*}}{field}"), None) for field in FIELDS}
    metadata = take_metadata({field: found.text for field, found in fields.items() if found is not None and found.text})
    files = {item.get("id"): unquote(item.get("href") or "") for item in package.iter("{*}item")}
    spine = [files.get(item.get("idref"), "") for item in package.iter("{*}itemref")]
    pages = [posixpath.normpath(posixpath.join(posixpath.dirname(name), page)) for page in spine if page]
    known = set(archive.namelist())
    return metadata, [page for page in dict.fromkeys(pages) if page in known]
