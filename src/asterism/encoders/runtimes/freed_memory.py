"""Freed memory, given back to the system between chunks.

The runtime, the tokenizer and this thread free into heaps of their own, which glibc keeps: over a long stream of texts
of all lengths they would add up to more than any one chunk needs.
"""

from __future__ import annotations

import ctypes

_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc alone has it, and it alone needs it


def return_freed_memory() -> None:
    """A few milliseconds; nothing that is in use is touched."""
    if _trim is not None:
        _trim(0)
