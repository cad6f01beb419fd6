"""Which segments are merged with which."""

from __future__ import annotations

from collections.abc import Sequence


def find_first_young(sizes: Sequence[int]) -> int:
    """Where those last segments begin that should be one: each at most twice as large as all after it.

    Merged so, there are never many more than log2(vectors) of them.
    """
    first = len(sizes) - 1
    total = sizes[-1] if sizes else 0
    while first > 0 and sizes[first - 1] <= 2 * total:
        first -= 1
        total += sizes[first]
    return max(first, 0)
