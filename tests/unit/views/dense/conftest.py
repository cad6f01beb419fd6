"""Searchers over several segments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from asterism.views.dense.eligible_rows import DensePolicy
from asterism.views.dense.searcher import DenseSearcher
from tests.unit.views.dense.rows import SIZES, Opened, segment_of


@pytest.fixture(params=["flat", "graph", "both"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    """Segments of given sizes; a graph is always explored, though these are so small that comparing all is faster."""
    many = {"flat": 10**9, "graph": 1, "both": 50}[request.param]

    def searcher(vectors: np.ndarray, sizes: tuple[int, ...] = SIZES) -> DenseSearcher:
        segments = [
            segment_of(tmp_path / str(i), rows, len(rows) >= many)
            for i, rows in enumerate(np.split(vectors, np.cumsum(sizes)[:-1]))
        ]
        return DenseSearcher(tmp_path, segments, DensePolicy(step=0, copied=5))

    return searcher
