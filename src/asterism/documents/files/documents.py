"""From the passages of a file to documents of an index."""

from __future__ import annotations

from typing import Any

from ..document import Document
from ..folders.names import make_passage_id
from .passages import FileContent, Passage

RESERVED = ("file", "lines", "page", "sheet", "place", "format")  # keys that say where a passage comes from


def make_documents(file: str, content: FileContent) -> list[Document]:
    """One document for each passage, with its place in the metadata; `file` is the file's full name."""
    return [
        Document(
            make_passage_id(file, place), passage.text, passage.title, _describe(file, place, passage, content.format)
        )
        for place, passage in enumerate(content.passages, 1)
    ]


def _describe(file: str, place: int, passage: Passage, format: str) -> dict[str, Any]:
    """The place, and the passage's own metadata; an own key that is reserved gets an underscore: `format_`."""
    found: dict[str, Any] = {"file": file, "place": place, "format": format}
    where = passage.place
    if where.first_line is not None:
        found["lines"] = [where.first_line, where.first_line if where.last_line is None else where.last_line]
    if where.page is not None:
        found["page"] = where.page
    if where.sheet is not None:
        found["sheet"] = where.sheet
    own = passage.metadata
    for key, value in own.items():
        name = key
        while name in RESERVED or (name != key and name in own):
            name = f"{name}_"
        found[name] = value
    return found
