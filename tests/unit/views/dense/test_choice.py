"""When a search compares all documents instead of exploring the graph."""

from __future__ import annotations

from pathlib import Path

import faiss
import numpy as np
import pytest

from asterism.views.dense import choice as dense_choice
from asterism.views.dense import segment as dense_segment
from asterism.views.dense.searcher import DenseSearcher
from tests.unit.views.dense.rows import assert_exact, normal, segment_of


def test_a_graph_that_leads_to_too_few_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only documents far from the query count, and the search looks no further than the nearest."""
    for module, name, value in ((dense_segment, "MANY", 1), (dense_choice, "STEP", 0), (dense_choice, "EXPLORED", 1)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(dense_choice, "WIDER", 0)
    monkeypatch.setattr(dense_choice, "COPIED", 0)
    vectors = normal(400)
    query = vectors[:1]
    mask = np.zeros(400, bool)
    mask[np.argsort(vectors @ query[0])[:15]] = True
    searcher = DenseSearcher(tmp_path, [segment_of(tmp_path / "x", vectors)])
    index = searcher.segments[0].index()
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
    assert dense_choice.compares_all(k, count, documents) == expected
