"""Lexical segments, opened: the documents with the largest sum of query weight times document weight."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ...errors import DamagedIndex, SettingError, VectorsError
from ...kernels import _native, choose_kernels
from ...representations.lexical import LexicalWeights
from ...settings import MOST_THREADS, whole_number
from ...storage.faults import REMEDY, damage_reported
from ..eligible import checked_subset
from ..hits import SearchHits
from ..tokens.merge import Mask
from .segment import OpenLexical
from .writer import checked_weights

LONGEST_QUERY = 8192  # native/lexical/engine.hpp has the same

Floats = npt.NDArray[np.float32]


class LexicalSearcher:
    """Documents are numbered through all segments, in their order."""

    def __init__(self, path: Path, segments: Sequence[OpenLexical]) -> None:
        """`path` is for messages."""
        self.path = path
        self.segments = list(segments)
        self.documents = sum(segment.facts.documents for segment in segments)
        self.counted = any(segment.facts.count_type for segment in segments)
        self._engine = _native.LexicalEngine([segment.native() for segment in segments], choose_kernels())

    def search(self, queries: LexicalWeights, k: int, subset: Mask | None = None, threads: int = 1) -> SearchHits:
        """Queries -> ids and scores (n, k), padded with -1 and -inf; documents without any term of a query are no hits.

        subset (documents,) restricts the search to some documents; threads share the queries, one each at a time.
        """
        wanted = whole_number("k", k, 1)
        workers = whole_number("threads", threads, 1, MOST_THREADS)
        weights = checked_weights(queries.weights)
        longest = int(np.diff(queries.offsets).max(initial=0))
        if longest > LONGEST_QUERY:
            raise VectorsError(f"a query has {longest} terms, expected at most {LONGEST_QUERY}: shorten it")
        mask = checked_subset(subset, self.documents)
        begin = time.perf_counter()
        with damage_reported(self.path):
            found = self._engine.search_many(
                np.ascontiguousarray(queries.terms),
                weights,
                np.ascontiguousarray(queries.offsets),
                wanted,
                mask,
                workers,
            )
        return SearchHits(*found, {"lists": time.perf_counter() - begin})

    def scores(self, terms: npt.ArrayLike, weights: npt.ArrayLike, documents: npt.ArrayLike) -> Floats:
        """A query's terms (n,) and weights (n,), documents (m,) -> (m,) to the bit as a search scores them."""
        added = self._added(terms, weights, documents)
        scores = np.zeros(len(added), np.float32)
        for column in added.T:
            scores += column
        return scores

    def contributions(self, terms: npt.ArrayLike, weights: npt.ArrayLike, document: int) -> Floats:
        """A query's terms (n,) and weights (n,), a document -> (n,) what each term adds to its score."""
        added: Floats = self._added(terms, weights, [document])[0]
        return added

    def frequencies(self, terms: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Terms (n,) -> (n,) documents that have each."""
        asked = np.asarray(terms, np.int64)
        found = np.zeros(len(asked), np.int64)
        for segment in self.segments:
            found += segment.frequencies(asked)
        return found

    def _added(self, terms: npt.ArrayLike, weights: npt.ArrayLike, documents: npt.ArrayLike) -> Floats:
        """(m, n): what each term adds to each document."""
        query = LexicalWeights([0, np.size(terms)], terms, weights)
        numbers = np.asarray(documents, np.int64)
        if numbers.ndim != 1 or ((numbers < 0) | (numbers >= self.documents)).any():
            raise SettingError(f"documents are not (m,) numbers from 0 to {self.documents - 1}")
        with damage_reported(self.path):
            added: Floats = self._engine.weights_of(
                np.ascontiguousarray(query.terms), np.ascontiguousarray(numbers)
            ) * checked_weights(query.weights)
        if not np.isfinite(added).all():
            raise DamagedIndex(f"{self.path}: a weight is no number; {REMEDY}")
        return added
