"""Rows of normal numbers, segments of them, and brute force over what a segment stores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from asterism import SearchHits
from asterism.views.dense.searcher import DenseSearcher
from asterism.views.dense.segment import DenseFacts, OpenDense, open_dense
from asterism.views.dense.writer import write_dense

D = 16
SIZES = (90, 1, 40)
Opened = Callable[..., DenseSearcher]


def segment_of(path: Path, rows: np.ndarray, graph: bool = False) -> OpenDense:
    return open_dense(path, write_dense(path, [rows], len(rows), rows.shape[1], graph, 1))


def normal(rows: int, seed: int = 0, d: int = D) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, d)).astype(np.float32)


def frozen(mask: np.ndarray) -> np.ndarray:
    mask.setflags(write=False)
    return mask


def assert_exact(hits: SearchHits, vectors: np.ndarray, queries: np.ndarray, k: int, mask: Any = None) -> None:
    """The k best eligible documents with their exact scores; equal scores in the order of documents."""
    counts = np.ones(len(vectors), bool) if mask is None else mask
    truth = queries.astype(np.float64) @ vectors.astype(np.float16).astype(np.float64).T
    for ids, scores, row in zip(hits.ids, hits.scores, truth, strict=True):
        wanted = min(k, int(counts.sum()))
        assert (ids[wanted:] == -1).all()
        assert (scores[wanted:] == -np.inf).all()
        ids, scores = ids[:wanted], scores[:wanted]
        assert len(set(ids.tolist())) == wanted
        assert counts[ids].all()
        tolerance = {"rtol": 1e-5, "atol": 1e-6 * max(1.0, np.abs(row).max())}
        np.testing.assert_allclose(scores, row[ids], **tolerance)
        np.testing.assert_allclose(scores, np.sort(row[counts])[::-1][:wanted], **tolerance)
        assert np.array_equal(np.lexsort((ids, -scores)), np.arange(wanted))


def forged(path: Path, facts: DenseFacts, name: str, change: Callable[[np.ndarray], None]) -> OpenDense:
    """The segment with an array changed, of the right size; its checksum is not compared here."""
    file = path / f"{name}.npy"
    values = np.load(file)
    change(values)
    header = file.read_bytes()[: -values.nbytes]
    file.write_bytes(header + values.tobytes())
    return open_dense(path, facts)
