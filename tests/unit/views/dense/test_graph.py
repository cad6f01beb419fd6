"""The stored graph is faiss's own, and a changed one never reaches faiss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import faiss
import numpy as np
import pytest

from asterism.errors import DamagedIndex
from asterism.views.dense import graph as dense_graph
from tests.unit.views.dense.rows import D, forged, normal, segment_of

FORGERIES: dict[str, tuple[str, Callable[[np.ndarray], None]]] = {
    "a document that is not there": ("neighbours", lambda values: values.__setitem__(3, len(values))),
    "a negative document": ("neighbours", lambda values: values.__setitem__(3, -2)),
    "another layer": ("neighbours", lambda values: values.__setitem__(slice(None), 7)),
    "no layer": ("levels", lambda values: values.__setitem__(0, 0)),
    "a high layer": ("levels", lambda values: values.__setitem__(0, 255)),
    "one layer more": ("levels", lambda values: values.__setitem__(0, values[0] + 1)),
    "layers swapped": ("levels", lambda values: values.__setitem__(slice(None), values[::-1].copy())),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_faiss_never_sees_a_forged_graph(tmp_path: Path, forgery: str) -> None:
    facts = segment_of(tmp_path / "x", normal(400), True).facts
    name, change = FORGERIES[forgery]
    with pytest.raises(DamagedIndex, match="has a graph"):
        forged(tmp_path / "x", facts, name, change).get_index()


def test_a_graph_begins_at_its_top(tmp_path: Path) -> None:
    segment = segment_of(tmp_path / "x", normal(400), True)
    low = int(np.argmin(segment.graph.levels))
    with pytest.raises(DamagedIndex, match="entry is not in the top layer"):
        replace(segment.graph, entry=low).make_index(segment.vectors)


def test_a_graph_is_the_one_that_faiss_made(tmp_path: Path) -> None:
    rows = normal(700)
    made = faiss.IndexHNSWSQ(D, faiss.ScalarQuantizer.QT_fp16, dense_graph.LINKS, faiss.METRIC_INNER_PRODUCT)
    made.hnsw.efConstruction = dense_graph.EXPLORED_TO_BUILD
    faiss.omp_set_num_threads(1)
    made.add(rows.astype(np.float16).astype(np.float32))
    stored = segment_of(tmp_path / "x", rows, True).get_index()
    queries = normal(20, 5)
    assert np.array_equal(made.search(queries, 10)[1], stored.search(queries, 10)[1])
    assert stored.ntotal == 700
