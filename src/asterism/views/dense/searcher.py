"""Searches dense segments with faiss for the documents with the largest inner product."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ...errors import VectorsError
from ...representations import Representations
from ...representations.token_vectors import LARGEST, check_finite, check_matrix
from ...settings import MOST_THREADS, check_whole_number
from ...storage.faults import damaged, report_damage
from ..eligible import Mask, check_eligible
from ..hits import SearchHits
from .eligible_rows import DensePolicy, EligibleRows
from .segment import OpenDense

KEPT = 8  # masks whose prepared rows are cached

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int64]
T = TypeVar("T", bound=np.generic)


class DenseSearcher:
    """A ViewSearcher of dense vectors; queries are a matrix (n, d), one query is a vector (d,)."""

    def __init__(self, path: Path, segments: Sequence[OpenDense], policy: DensePolicy | None = None) -> None:
        """`path` is for messages; all segments have the same dimensions."""
        self.path = path
        self._policy = policy or DensePolicy()
        self.segments = list(segments)
        self.dimensions = segments[0].facts.dimensions
        if any(segment.facts.dimensions != self.dimensions for segment in segments):
            raise damaged(path, "has dense vectors of several lengths")
        self.documents = sum(segment.facts.documents for segment in segments)
        self._firsts = np.cumsum([0] + [segment.facts.documents for segment in segments])
        self._everything = self._prepare_rows(None)
        self._ready: dict[int, tuple[Mask, list[EligibleRows]]] = {}

    def prepare(self, queries: Representations) -> Floats:
        """The queries' vectors (n, d)."""
        if queries.dense is None:
            raise VectorsError("the queries have no dense vectors")
        return queries.dense

    def search(self, queries: npt.ArrayLike, k: int, eligible: Mask | None = None, threads: int = 1) -> SearchHits:
        """Queries (n, d) -> ids and scores (n, up to k). What a read-only mask needs is prepared once and cached."""
        wanted = check_whole_number("k", k, 1)
        workers = check_whole_number("threads", threads, 1, MOST_THREADS)
        rows = self._check(queries)
        check_eligible(eligible, self.documents)
        begin = time.perf_counter()
        with report_damage(self.path):
            ready = self._everything if eligible is None else self._get_prepared_rows(eligible)
            found = [part.find_nearest(rows, wanted, workers) for part in ready]
            best = [self._pick_best(rows[i], [ids[i] for ids in found], wanted) for i in range(len(rows))]
        return SearchHits.from_rows(best, {"dense": time.perf_counter() - begin})

    def scores(self, query: npt.ArrayLike, documents: Numbers) -> Floats:
        """Query (d,), documents (m,) ascending -> (m,) inner products with the stored float16 vectors."""
        row = self._check(np.asarray(query)[None])[0]
        bounds = np.searchsorted(documents, self._firsts)
        spans = zip(self.segments, self._firsts, bounds, bounds[1:], strict=False)
        with report_damage(self.path):
            return np.concatenate([segment.scores(row, documents[a:b] - first) for segment, first, a, b in spans])

    def read_vectors(self, documents: Numbers) -> Floats:
        """Documents (m,), in any order -> (m, d) their stored vectors."""
        rows = np.empty((len(documents), self.dimensions), np.float32)
        at = np.searchsorted(self._firsts, documents, side="right") - 1
        with report_damage(self.path):
            for number, segment in enumerate(self.segments):
                rows[at == number] = segment.vectors[documents[at == number] - self._firsts[number]]
        if not np.isfinite(rows).all():
            raise damaged(self.path, "has a vector with NaN or infinity")
        return rows

    def explain(self, query: npt.ArrayLike, document: int) -> Floats:
        """A document -> (1, 1): its score, because a dense vector has no parts."""
        return self.scores(query, np.array([document]))[None]

    def _get_prepared_rows(self, eligible: Mask) -> list[EligibleRows]:
        """The rows of each segment; a writeable mask is never cached."""
        if eligible.flags.writeable:
            return self._prepare_rows(eligible)
        ready = self._ready.get(id(eligible))
        if ready is None:
            ready = eligible, self._prepare_rows(eligible)  # keeps the mask alive, so that no other mask gets its id
            self._ready[id(eligible)] = ready
            for oldest in list(self._ready)[:-KEPT]:
                self._ready.pop(oldest, None)
        return ready[1]

    def _prepare_rows(self, eligible: Mask | None) -> list[EligibleRows]:
        spans = zip(self.segments, self._firsts, self._firsts[1:], strict=False)
        return [
            EligibleRows(segment, None if eligible is None else eligible[a:b], self._policy) for segment, a, b in spans
        ]

    def _pick_best(self, query: Floats, found: Sequence[Numbers], k: int) -> tuple[Numbers, Floats]:
        """The k best of all segments, scored in the same way in each; equal scores in the order of the documents."""
        documents = _concatenate([ids + first for ids, first in zip(found, self._firsts, strict=False)])
        scores = _concatenate([segment.scores(query, ids) for segment, ids in zip(self.segments, found, strict=True)])
        order = np.lexsort((documents, -scores))[:k]
        return documents[order], scores[order]

    def _check(self, queries: npt.ArrayLike) -> Floats:
        rows = np.ascontiguousarray(check_matrix(queries, "the query"), np.float32)
        if rows.shape[1] != self.dimensions:
            raise VectorsError(f"the query has {rows.shape[1]} dimensions, the index has {self.dimensions}")
        if not np.vdot(rows, rows) <= LARGEST:  # the sum of squares: a fast check that NaN fails too
            check_finite(rows, "the query")
        return rows


def _concatenate(parts: Sequence[npt.NDArray[T]]) -> npt.NDArray[T]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
