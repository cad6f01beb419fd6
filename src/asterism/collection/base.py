"""What the next segment builds on: a committed state, and the sizes of its segments.

A writer keeps it up to date without opening what it has just written, so that the cost of a write depends only on its
own size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .snapshot import Snapshot
from .state import Part, State
from .stored_parts import StoredCodec, StoredSegment


@dataclass(frozen=True)
class Size:
    """Sizes of a segment, with deleted documents: token vectors, total of the term counts, and the unexplained share.

    left_over: the share of the vectors' energy that the codec's centroids do not explain.
    """

    documents: int
    tokens: int = 0
    length: int = 0
    left_over: float = 0.0

    @classmethod
    def from_stored(cls, stored: StoredSegment) -> Size:
        """The sizes of an open segment."""
        length = stored.lexical.facts.length if stored.lexical is not None else 0
        left_over = stored.multi.left_over if stored.multi is not None else 0.0
        return cls(len(stored.numbers), stored.tokens, length, left_over)

    @property
    def cost(self) -> int:
        """Approximate cost of merging it."""
        return self.documents + self.tokens


@dataclass(frozen=True)
class Base:
    """A committed state and its sizes; dense_dimensions: None before the first dense vector."""

    state: State
    codec: StoredCodec | None
    dense_dimensions: int | None
    sizes: tuple[Size, ...]

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot) -> Base:
        """The base of an open state."""
        dimensions = snapshot.dense.dimensions if snapshot.dense is not None else None
        sizes = tuple(Size.from_stored(stored) for stored in snapshot.segments)
        return cls(snapshot.state, snapshot.codec, dimensions, sizes)

    def with_segment(self, state: State, codec: StoredCodec | None, dimensions: int | None, size: Size) -> Base:
        """The base after a commit of one more segment."""
        return Base(state, codec, dimensions, (*self.sizes, size))

    @property
    def tokens(self) -> int:
        """Number of token vectors, with those of deleted documents."""
        return sum(size.tokens for size in self.sizes)

    @property
    def is_flat(self) -> bool:
        """Whether token vectors are still stored as floats, or there are none."""
        return self.codec is None or self.codec.untrained

    def drift(self) -> float:
        """The share that the codec leaves over now, relative to that at its training; 1 if it was never trained."""
        if self.codec is None or self.codec.left_over <= 0 or not self.sizes:
            return 1.0
        weights = [max(1, size.tokens) for size in self.sizes]
        return float(np.average([size.left_over for size in self.sizes], weights=weights)) / self.codec.left_over


def add_part(state: State, part: Part, documents: int, replaced: int) -> State:
    """The state with one more segment of `documents` new documents, `replaced` of which replace others."""
    return replace(
        state,
        segments=(*state.segments, part),
        next_number=state.next_number + documents,
        documents=state.documents + documents - replaced,
    )
