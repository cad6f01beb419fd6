"""Returning freed memory to the system between chunks.

The runtime, the tokenizer and the calling thread free into separate heaps, which glibc keeps. Over a long stream of
texts of all lengths, these would grow larger than any single chunk needs.
"""

from __future__ import annotations

import ctypes

_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # only glibc has it, and only glibc needs it


def return_freed_memory() -> None:
    """Takes a few milliseconds; memory in use is not touched."""
    if _trim is not None:
        _trim(0)
