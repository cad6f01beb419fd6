"""The index that an adapter is given: an open retriever, or a path; how long it waits to write there."""

from __future__ import annotations

import os

from ..errors import InputError
from ..retriever import Retriever

WRITER_PATIENCE = 60.0  # seconds: frameworks write from several threads at once, one after the other


def open_index(index: object) -> Retriever:
    """The retriever itself, or the one at a path, which is closed when nothing refers to it any more."""
    if isinstance(index, Retriever):
        return index
    if isinstance(index, str | os.PathLike):
        return Retriever.open(index)
    raise InputError(f"the index is a {type(index).__name__}, expected an open asterism.Retriever or a path")
