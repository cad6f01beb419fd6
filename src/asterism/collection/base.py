"""What the next segment builds on: a committed state, and the sizes of its segments.

Known without opening what was just written, so that a write costs what it writes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .snapshot import Snapshot
from .state import Part, State
from .stored_parts import StoredCodec, StoredSegment


@dataclass(frozen=True)
class Size:
    """Of a segment, deleted documents included: token vectors, counted terms, and the share its codec left over."""

    documents: int
    tokens: int = 0
    length: int = 0
    left_over: float = 0.0

    @classmethod
    def from_stored(cls, stored: StoredSegment) -> Size:
        """Of an opened segment."""
        length = stored.lexical.facts.length if stored.lexical is not None else 0
        left_over = stored.multi.left_over if stored.multi is not None else 0.0
        return cls(len(stored.numbers), stored.tokens, length, left_over)

    @property
    def cost(self) -> int:
        """Of merging it, about."""
        return self.documents + self.tokens


@dataclass(frozen=True)
class Base:
    """dense_dimensions: None before the first dense vector."""

    state: State
    codec: StoredCodec | None
    dense_dimensions: int | None
    sizes: tuple[Size, ...]

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot) -> Base:
        """Of an opened state."""
        dimensions = snapshot.dense.dimensions if snapshot.dense is not None else None
        sizes = tuple(Size.from_stored(stored) for stored in snapshot.segments)
        return cls(snapshot.state, snapshot.codec, dimensions, sizes)

    def with_segment(self, state: State, codec: StoredCodec | None, dimensions: int | None, size: Size) -> Base:
        """After a commit of one more segment."""
        return Base(state, codec, dimensions, (*self.sizes, size))

    @property
    def tokens(self) -> int:
        """Token vectors, those of deleted documents included."""
        return sum(size.tokens for size in self.sizes)

    @property
    def is_flat(self) -> bool:
        """Whether token vectors are still floats, or there are none."""
        return self.codec is None or self.codec.untrained

    def drift(self) -> float:
        """What the codec leaves over now, as a multiple of that at its training; 1 for what was never trained."""
        if self.codec is None or self.codec.left_over <= 0 or not self.sizes:
            return 1.0
        weights = [max(1, size.tokens) for size in self.sizes]
        return float(np.average([size.left_over for size in self.sizes], weights=weights)) / self.codec.left_over


def add_part(state: State, part: Part, documents: int, replaced: int) -> State:
    """The state with one more segment of so many new documents, some of which replace others."""
    return replace(
        state,
        segments=(*state.segments, part),
        next_number=state.next_number + documents,
        documents=state.documents + documents - replaced,
    )
