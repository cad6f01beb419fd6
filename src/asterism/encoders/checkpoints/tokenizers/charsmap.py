"""SentencePiece's precompiled character map, as base64: the size of a trie, the trie, and its replacements.

The trie is a double array of 32-bit units (Darts); a replacement ends with a zero byte. The library replaces a
character, or a few that belong together, by what the trie has for its first bytes.
"""

from __future__ import annotations

import base64
import binascii
import math
from typing import Any

import numpy as np
import numpy.typing as npt

LARGEST_MAP = 4 << 20  # characters; those of T5 and XLM-R have about 300,000

Units = npt.NDArray[np.uint32]

_LABELS = np.arange(1, 256, dtype=np.uint32)


def compute_map_growth(charsmap: Any) -> int:
    """The most bytes that the map can make of one byte; ValueError if it is not a map."""
    try:
        if not isinstance(charsmap, str) or len(charsmap) > LARGEST_MAP:
            raise ValueError(f"expected base64 of at most {LARGEST_MAP} characters")
        raw = base64.b64decode(charsmap, validate=True)
    except binascii.Error as error:
        raise ValueError(f"expected base64: {error}") from None
    size = int.from_bytes(raw[:4], "little")
    if not 4 <= size <= len(raw) - 4 or size % 4:
        raise ValueError(f"a trie of {size} bytes in a map of {len(raw)}")
    trie, replacements = np.frombuffer(raw, "<u4", size // 4, 4), raw[4 + size :]
    lengths = _compute_lengths(replacements)
    first, of_one = _step(trie, _compute_offset(trie[:1]), lengths)
    _, of_two = _step(trie, first, lengths)
    # Replacements of three bytes or more, like the longest ones of published maps, count a third.
    return max(1, of_one, math.ceil(of_two / 2), math.ceil(max(lengths, default=0) / 3))


def _step(trie: Units, nodes: Units, lengths: npt.NDArray[np.int64]) -> tuple[Units, int]:
    """All nodes that are one byte further, and the length of their longest replacement."""
    places = (nodes[:, None] ^ _LABELS).ravel()
    labels = np.tile(_LABELS, len(nodes))
    inside = places < len(trie)
    places, labels = places[inside], labels[inside]
    units = trie[places]
    fits = (units & np.uint32(0x800000FF)) == labels
    places, units = places[fits], units[fits]
    following = places ^ _compute_offset(units)
    leaves = following[(units >> 8 & 1).astype(bool)]
    values = trie[leaves[leaves < len(trie)]] & np.uint32(0x7FFFFFFF)
    return following, int(lengths[values[values < len(lengths)]].max(initial=0))


def _compute_offset(units: Units) -> Units:
    return np.asarray((units >> 10) << ((units & np.uint32(1 << 9)) >> 6), np.uint32)


def _compute_lengths(replacements: bytes) -> npt.NDArray[np.int64]:
    """(bytes,) the length of the replacement that begins at each byte."""
    ends = np.append(np.flatnonzero(np.frombuffer(replacements, np.uint8) == 0), len(replacements))
    places = np.arange(len(replacements))
    return np.asarray(ends[np.searchsorted(ends, places)] - places)
