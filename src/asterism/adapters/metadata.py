"""A document's metadata, as other libraries expect them."""

from __future__ import annotations

from typing import Any

from ..documents.document import Document


def collect_metadata(document: Document) -> dict[str, Any]:
    """The document's metadata, and its title as `title` if it has one and the metadata have no `title` themselves."""
    title = {"title": document.title} if document.title else {}
    return {**title, **document.metadata}
