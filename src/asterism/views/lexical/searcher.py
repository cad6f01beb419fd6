"""Searches lexical segments for the documents with the largest sum of query weight times document weight."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ...errors import DamagedIndex, SettingError, VectorsError
from ...kernels import _native, choose_kernels
from ...representations import LexicalWeights, Representations
from ...settings import FIRST_COUNTING, MOST_THREADS, TermCounting, check_whole_number
from ...storage.faults import REMEDY, damaged, report_damage
from ..eligible import Mask, check_eligible
from ..hits import SearchHits
from .bm25 import Bm25, idf
from .segment import OpenLexical
from .statistics import LexicalStatistics
from .writer import check_weights

LONGEST_QUERY = 8192  # native/lexical/engine.hpp has the same

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int64]
Terms = tuple[npt.NDArray[np.int64], Floats]


class LexicalSearcher:
    """A ViewSearcher of weighted terms; queries are LexicalWeights, one query is its terms (n,) and weights (n,)."""

    def __init__(
        self, path: Path, segments: Sequence[OpenLexical], statistics: LexicalStatistics | None = None
    ) -> None:
        """`path` is for messages; `statistics` are BM25's, by default those of all documents in the segments."""
        self.path = path
        self.segments = list(segments)
        self.statistics = LexicalStatistics(segments) if statistics is None else statistics
        self.documents = sum(segment.facts.documents for segment in segments)
        self.bm25 = self._find_bm25()
        self._engine = _native.LexicalEngine([segment.to_native(self.bm25) for segment in segments], choose_kernels())

    @property
    def counted(self) -> bool:
        """Whether documents have counts, which BM25 turns into weights, instead of a model's weights."""
        return self.bm25 is not None

    def is_weighted_by(self, counting: TermCounting | None) -> bool:
        """Whether these settings give the weights; None for a model's."""
        if self.bm25 is None or counting is None:
            return self.bm25 is None and counting is None
        return (self.bm25.k1, self.bm25.b) == (counting.k1, counting.b)

    def _find_bm25(self) -> Bm25 | None:
        """BM25 with the mean length of all documents that count; None for a model's weights."""
        known = [segment.facts for segment in self.statistics.segments]
        counted = [facts for facts in known if facts.count_type]
        if not counted:
            return None
        weighed = [facts.bm25 or FIRST_COUNTING for facts in counted]
        used = {(one.k1, one.b) for one in weighed}
        if len(used) > 1 or len(counted) < len(known):
            raise damaged(self.path, "has segments whose terms are weighted in different ways")
        return Bm25.from_totals(weighed[0], self.statistics.length, self.statistics.documents)

    def prepare(self, queries: Representations) -> LexicalWeights:
        """The queries' terms. Counts are multiplied by the current idf of each term; a model's weights stay."""
        asked = queries.lexical
        if asked is None:
            raise VectorsError("the queries have no terms")
        if not self.counted:
            return asked
        rarity = idf(self.frequencies(asked.terms), self.statistics.documents)
        return LexicalWeights(asked.offsets, asked.terms, asked.weights * rarity)

    def search(self, queries: LexicalWeights, k: int, eligible: Mask | None = None, threads: int = 1) -> SearchHits:
        """Queries -> ids and scores (n, up to k); documents without any term of the query are not returned."""
        wanted = min(check_whole_number("k", k, 1), max(1, self.documents))  # the engine allocates room for k hits
        workers = check_whole_number("threads", threads, 1, MOST_THREADS)
        weights = check_weights(queries.weights)
        longest = int(np.diff(queries.offsets).max(initial=0))
        if longest > LONGEST_QUERY:
            raise VectorsError(f"a query has {longest} terms, expected at most {LONGEST_QUERY}: shorten it")
        mask = check_eligible(eligible, self.documents)
        terms, starts = np.ascontiguousarray(queries.terms), np.ascontiguousarray(queries.offsets)
        begin = time.perf_counter()
        with report_damage(self.path):
            found = self._engine.search_many(terms, weights, starts, wanted, mask, workers)
        return SearchHits(*found, {"lists": time.perf_counter() - begin})

    def scores(self, query: Terms, documents: Numbers) -> Floats:
        """Documents (m,) -> (m,), bit for bit the scores of a search."""
        added = self._compute_added(query, documents)
        scores = np.zeros(len(added), np.float32)
        for column in added.T:
            scores += column
        return scores

    def explain(self, query: Terms, document: int) -> Floats:
        """A document -> (1, n): what each term adds to its score."""
        return self._compute_added(query, np.array([document]))

    def frequencies(self, terms: npt.ArrayLike) -> Numbers:
        """Terms (n,) -> (n,) documents that contain each, without deleted ones."""
        return self.statistics.frequencies(terms)

    def _compute_added(self, query: Terms, documents: Numbers) -> Floats:
        """(m, n): what each term adds to each document."""
        terms, weights = query
        if documents.ndim != 1 or ((documents < 0) | (documents >= self.documents)).any():
            raise SettingError(f"documents are not (m,) numbers from 0 to {self.documents - 1}")
        with report_damage(self.path):
            stored = self._engine.weights_of(np.ascontiguousarray(terms), np.ascontiguousarray(documents, np.int64))
        added: Floats = stored * check_weights(weights)
        if not np.isfinite(added).all():
            raise DamagedIndex(f"{self.path}: a weight is not a finite number; {REMEDY}")
        return added
