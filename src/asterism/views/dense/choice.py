"""Those documents of a dense segment that count, made ready for faiss: all, a few copied, or many by a bitmap.

A graph is explored further, the fewer count, until it costs less to compare all that do: then that is done.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...storage.faults import damaged
from ..tokens.merge import Mask
from .segment import OpenDense, flat_index

EXPLORED = 256  # documents of the graph in view, for small k; with half as many some queries found none of the best
WIDER = 4  # times k in view, for large k
STEP = 20  # comparisons that take as long as one more document in view
COPIED = 8192  # documents at most, and
SMALL = 0.2  # share of them at most, that are copied: a bitmap is as slow for a few as it is long

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int64]


class Chosen:
    """Of one segment; what is made here serves any number of searches, of several threads at once."""

    def __init__(self, segment: OpenDense, counts: Mask | None) -> None:
        """counts (documents,): those that do; None for all."""
        self._segment = segment
        self._documents = segment.facts.documents
        self._count = self._documents if counts is None else int(np.count_nonzero(counts))
        self._plan: tuple[int, Any, Any] = (0, None, None)  # kept: faiss's Python objects take a while to make
        self._copied: tuple[Any, Numbers] | None = None
        self._selector: Any = None
        if counts is None or self._count in (0, self._documents):
            return
        if self._count <= min(COPIED, SMALL * self._documents):
            places = np.flatnonzero(counts)
            self._copied = flat_index(segment.vectors[places]), places
        else:
            import faiss

            self._selector = faiss.IDSelectorBitmap(np.packbits(counts, bitorder="little"))

    def nearest(self, queries: Floats, k: int, threads: int) -> Numbers:
        """(n, k) documents of this segment, or (n, those that count) if they are fewer."""
        import faiss

        k = min(k, self._count)
        if k == 0 or not len(queries):
            return np.empty((len(queries), k), np.int64)
        faiss.omp_set_num_threads(threads)
        if self._copied is not None:
            index, places = self._copied
            return np.asarray(places[self._whole(_found(index, None, queries, k))])
        plan = self._plan
        if plan[0] != k:
            plan = self._plan = (k, *self._planned(k, compares_all(k, self._count, self._documents)))
        found = _found(*plan[1:], queries, k)
        if found.min() < 0:  # the graph led to fewer than there are
            found = _found(*self._planned(k, True), queries, k)
        return self._whole(found)

    def _whole(self, found: Numbers) -> Numbers:
        """What was found, if it is as many as there must be: faiss leaves out what cannot be compared."""
        if found.min() < 0:
            raise damaged(self._segment.folder.path, "has a vector with NaN or infinity")
        return found

    def _planned(self, k: int, everything: bool) -> tuple[Any, Any]:
        """An index of faiss and how it is searched: the graph, or everything that counts."""
        import faiss

        index = self._segment.index()
        params = None if self._selector is None else faiss.SearchParameters(sel=self._selector)
        if not self._segment.has_graph:
            return index, params
        if everything:
            return faiss.downcast_index(index.storage), params
        view = explored(k, self._count, self._documents)
        return index, faiss.SearchParametersHNSW(efSearch=view, sel=self._selector)


def explored(k: int, count: int, documents: int) -> int:
    """Documents of the graph that a search keeps in view, if so many of all count."""
    return max(EXPLORED, WIDER * k) * documents // count


def compares_all(k: int, count: int, documents: int) -> bool:
    """Whether the graph would not be faster."""
    return STEP * explored(k, count, documents) >= count


def _found(index: Any, params: Any, queries: Floats, k: int) -> Numbers:
    ids: Numbers = index.search(queries, k, params=params)[1]
    return ids
