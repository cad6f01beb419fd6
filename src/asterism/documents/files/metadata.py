"""Metadata from files: only what a document can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..document import Document

MOST_FIELDS = 100  # where not all of them fit


def take_metadata(fields: Mapping[Any, Any]) -> dict[str, Any]:
    """A copy of the fields as JSON; those beyond the limits of a document are left out."""
    named = {str(key): value for key, value in fields.items()}
    copied = _copy(named)
    if copied is not None:
        return copied
    each = (_copy({key: value}) for key, value in named.items())
    taken: dict[str, Any] = {}
    for field in each:
        if field and len(taken) < MOST_FIELDS:
            taken |= field
    return _copy(taken) or {}


def _copy(fields: dict[str, Any]) -> dict[str, Any] | None:
    """The fields as a document keeps them; None if it refuses them."""
    try:
        return dict(Document("x", "", metadata=fields).metadata)
    except ValueError:  # a DocumentError is one; another is an integer of 5,000 digits in its message
        return None
