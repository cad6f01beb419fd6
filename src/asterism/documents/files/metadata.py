"""Metadata from files: only what a document can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import DocumentError
from ..document import Document

MOST_FIELDS = 100  # where not all of them fit


def take_metadata(fields: Mapping[Any, Any]) -> dict[str, Any]:
    """A copy of the fields as JSON; those beyond the limits of a document are left out."""
    named = {str(key): value for key, value in fields.items()}
    if _fits(named):
        return dict(Document("x", "", metadata=named).metadata)
    taken: dict[str, Any] = {}
    for key, value in named.items():
        if len(taken) < MOST_FIELDS and _fits({key: value}):
            taken[key] = value
    return dict(Document("x", "", metadata=taken).metadata) if _fits(taken) else {}


def _fits(fields: dict[str, Any]) -> bool:
    try:
        Document("x", "", metadata=fields)
    except (DocumentError, ValueError):  # ValueError: an integer of 5,000 digits in a message
        return False
    return True
