"""A hit's metadata, as other libraries expect them."""

from __future__ import annotations

from typing import Any

from ..results import Hit


def collect_metadata(hit: Hit) -> dict[str, Any]:
    """The document's metadata, and its title as `title` if it has one and the metadata have no `title` themselves."""
    title = {"title": hit.document.title} if hit.document.title else {}
    return {**title, **hit.document.metadata}
