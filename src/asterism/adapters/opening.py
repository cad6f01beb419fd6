"""What the adapters take: a retriever that is open, or the path of one."""

from __future__ import annotations

import os

from ..errors import InputError
from ..retriever import Retriever


def opened(index: object) -> Retriever:
    """The retriever itself, or the one at a path, which is closed when nobody refers to it any more."""
    if isinstance(index, Retriever):
        return index
    if isinstance(index, str | os.PathLike):
        return Retriever.open(index)
    raise InputError(f"the index is a {type(index).__name__}, expected an open asterism.Retriever or a path")
