"""When a search compares all documents instead of exploring the graph."""

from __future__ import annotations

from pathlib import Path

import faiss
import numpy as np
import pytest

from asterism.views.dense.eligible_rows import DensePolicy
from asterism.views.dense.searcher import DenseSearcher
from tests.unit.views.dense.rows import assert_exact, normal, segment_of


def test_all_are_compared_if_the_graph_finds_too_few(tmp_path: Path) -> None:
    """Only documents far from the query are eligible, and the graph search stops near the query."""
    policy = DensePolicy(explored=1, wider=0, step=0, copied=0)
    vectors = normal(400)
    query = vectors[:1]
    mask = np.zeros(400, bool)
    mask[np.argsort(vectors @ query[0])[:15]] = True
    searcher = DenseSearcher(tmp_path, [segment_of(tmp_path / "x", vectors, True)], policy)
    index = searcher.segments[0].get_index()
    bits = faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))
    assert (index.search(query, 10, params=faiss.SearchParametersHNSW(efSearch=1, sel=bits))[1] == -1).any()
    assert_exact(searcher.search(query, 10, mask), vectors, query, 10, mask)


@pytest.mark.parametrize(
    ("k", "count", "documents", "expected"),
    [
        (10, 54_615, 54_615, False),
        (10, 27_000, 54_615, False),
        (10, 5_400, 54_615, True),
        (1_000, 54_615, 54_615, True),
        (100, 10**6, 10**6, False),
        (10, 10**6, 10**7, False),
        (10, 1, 10**7, True),
        (10**6, 10**7, 10**7, True),
    ],
)
def test_all_are_compared_where_the_graph_would_be_slower(k: int, count: int, documents: int, expected: bool) -> None:
    assert DensePolicy().compares_all(k, count, documents) == expected
