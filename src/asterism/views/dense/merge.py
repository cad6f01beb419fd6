"""Merges dense segments and drops deleted documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ...storage.arrays import forget_pages
from ..eligible import Mask
from .segment import DenseFacts, Halves, OpenDense
from .writer import write_dense

CHUNK_ROWS = 4096


def merge_dense(
    target: Path, parts: Sequence[tuple[OpenDense, Mask]], with_graph: bool, threads: int, chunk_rows: int = CHUNK_ROWS
) -> DenseFacts:
    """Write the kept documents of several segments, in order, as one segment."""
    documents, dimensions = sum(int(kept.sum()) for _, kept in parts), parts[0][0].facts.dimensions
    return write_dense(target, _read_kept_rows(parts, chunk_rows), documents, dimensions, with_graph, threads)


def _read_kept_rows(parts: Sequence[tuple[OpenDense, Mask]], chunk_rows: int) -> Iterator[Halves]:
    for part, kept in parts:
        places = np.flatnonzero(kept)
        for start in range(0, len(places), chunk_rows):
            yield part.vectors[places[start : start + chunk_rows]]
        forget_pages(part.vectors)
