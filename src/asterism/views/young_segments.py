"""Which segments are merged."""

from __future__ import annotations

from collections.abc import Sequence


def find_first_young(sizes: Sequence[int]) -> int:
    """The first of the last segments that should be merged: each is at most twice as large as all after it.

    This keeps the number of segments near log2(vectors).
    """
    first = len(sizes) - 1
    total = sizes[-1] if sizes else 0
    while first > 0 and sizes[first - 1] <= 2 * total:
        first -= 1
        total += sizes[first]
    return max(first, 0)
