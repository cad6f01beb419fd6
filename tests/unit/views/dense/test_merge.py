"""Merged dense segments."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from asterism.views.dense.merge import merge_dense
from asterism.views.dense.searcher import DenseSearcher
from asterism.views.dense.segment import open_dense
from tests.unit.views.dense.rows import assert_exact, normal, segment_of


@pytest.mark.parametrize("graph", [False, True], ids=["flat", "graph"])
def test_merging_keeps_rows_to_the_bit(tmp_path: Path, graph: bool) -> None:
    rows = normal(60).astype(np.float16)
    rows[:4, 0] = 65504, -65504, 2.0**-24, -0.0
    kept = np.random.default_rng(1).random(60) < 0.7
    kept[40:50] = False
    cuts = [0, 25, 40, 50, 60]
    parts = [segment_of(tmp_path / str(a), rows[a:b], graph) for a, b in pairwise(cuts)]
    masks = [kept[a:b] for a, b in pairwise(cuts)]
    facts = merge_dense(tmp_path / "merged", list(zip(parts, masks, strict=True)), graph, 1, chunk_rows=7)
    merged = open_dense(tmp_path / "merged", facts)
    assert merged.has_graph == graph
    assert np.array_equal(merged.vectors.view(np.uint16), rows[kept].view(np.uint16))
    query = normal(1, 1)
    assert_exact(DenseSearcher(tmp_path, [merged]).search(query, 9), rows[kept], query, 9)
