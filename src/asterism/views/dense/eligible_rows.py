"""The eligible documents of a dense segment, prepared for faiss: all of them, a copy of a few, or a bitmap of many.

The fewer documents are eligible, the further a graph is explored, until comparing all of them costs less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...storage.faults import damaged
from ..eligible import Mask
from .segment import OpenDense, make_flat_index

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class DensePolicy:
    """When the graph is searched, and how far.

    explored    length of the graph's candidate list (efSearch) for small k; half of it misses all of the best for some
                queries
    wider       the same for large k, as a multiple of k
    step        comparisons that take as long as one more entry of the candidate list
    copied      eligible documents are copied if there are at most this many, and
    small       at most this share of all, because the cost of a bitmap depends on its length
    """

    explored: int = 256
    wider: int = 4
    step: int = 20
    copied: int = 8192
    small: float = 0.2

    def count_explored(self, k: int, eligible: int, documents: int) -> int:
        """Length of the graph's candidate list if `eligible` of the documents are eligible."""
        return max(self.explored, self.wider * k) * documents // eligible

    def compares_all(self, k: int, eligible: int, documents: int) -> bool:
        """Whether comparing all eligible documents is at least as fast as the graph."""
        return self.step * self.count_explored(k, eligible, documents) >= eligible


class EligibleRows:
    """The eligible documents of one segment, for any number of searches in any number of threads."""

    def __init__(self, segment: OpenDense, eligible: Mask | None, policy: DensePolicy) -> None:
        """eligible (documents,); None for all."""
        self._policy = policy
        self._segment = segment
        self._eligible = eligible
        self._full: EligibleRows | None = None  # without the rows of empty documents, if a search met one
        self._documents = segment.facts.documents
        self._count = self._documents if eligible is None else int(np.count_nonzero(eligible))
        self._plan: tuple[int, Any, Any] = (0, None, None)  # cached: faiss's Python objects are slow to make
        self._copied: tuple[Any, Numbers] | None = None
        self._selector: Any = None
        if eligible is None or self._count in (0, self._documents):
            return
        if self._count <= min(policy.copied, policy.small * self._documents):
            places = np.flatnonzero(eligible)
            self._copied = make_flat_index(segment.vectors[places]), places
        else:
            import faiss

            self._selector = faiss.IDSelectorBitmap(np.packbits(eligible, bitorder="little"))

    def find_nearest(self, queries: Floats, k: int, threads: int) -> Numbers:
        """(n, k) documents of this segment, or (n, eligible) if they are fewer; never one whose vector is zero."""
        if self._full is None:
            scores, found = self._find_any_nearest(queries, k, threads)
            zero = found[scores == 0]
            if not zero.size or self._segment.vectors[np.unique(zero)].any(axis=1).all():
                return found
            full = np.asarray(self._segment.vectors.any(axis=1))
            eligible = full if self._eligible is None else full & self._eligible
            self._full = EligibleRows(self._segment, eligible, self._policy)
        return self._full.find_nearest(queries, k, threads)

    def _find_any_nearest(self, queries: Floats, k: int, threads: int) -> tuple[Floats, Numbers]:
        """(n, k) scores and documents of this segment, those of empty documents among them."""
        import faiss

        k = min(k, self._count)
        if k == 0 or not len(queries):
            return np.empty((len(queries), k), np.float32), np.empty((len(queries), k), np.int64)
        faiss.omp_set_num_threads(threads)
        if self._copied is not None:
            index, places = self._copied
            scores, found = self._refuse_missing(*_search(index, None, queries, k))
            return scores, np.asarray(places[found])
        plan = self._plan
        if plan[0] != k:
            everything = self._policy.compares_all(k, self._count, self._documents)
            plan = self._plan = (k, *self._choose_index(k, everything))
        scores, found = _search(*plan[1:], queries, k)
        if found.min() < 0:  # the graph found fewer documents than there are
            scores, found = _search(*self._choose_index(k, True), queries, k)
        return self._refuse_missing(scores, found)

    def _refuse_missing(self, scores: Floats, found: Numbers) -> tuple[Floats, Numbers]:
        """Return what was found if it is complete: faiss leaves out vectors that it cannot compare."""
        if found.min() < 0:
            raise damaged(self._segment.folder.path, "has a vector with NaN or infinity")
        return scores, found

    def _choose_index(self, k: int, everything: bool) -> tuple[Any, Any]:
        """A faiss index and its search parameters: the graph, or a comparison of all eligible documents."""
        import faiss

        index = self._segment.get_index()
        params = None if self._selector is None else faiss.SearchParameters(sel=self._selector)
        if not self._segment.has_graph:
            return index, params
        if everything:
            return faiss.downcast_index(index.storage), params
        explored = self._policy.count_explored(k, self._count, self._documents)
        return index, faiss.SearchParametersHNSW(efSearch=explored, sel=self._selector)


def _search(index: Any, params: Any, queries: Floats, k: int) -> tuple[Floats, Numbers]:
    scores, ids = index.search(queries, k, params=params)
    return scores, ids
