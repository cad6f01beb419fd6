"""One view of a collection's state: its best documents for each query, and its scores of given documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..collection.snapshot import Snapshot
from ..errors import VectorsError
from ..representations import LexicalWeights, Representations
from ..representations.token_vectors import FloatArray
from ..settings import TokenSearch, View
from ..views.hits import SearchHits
from ..views.lexical.bm25 import idf
from ..views.tokens.merge import Mask

EVERY_TOKEN = TokenSearch(method="exact")

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int64]


class AskedViews:
    """Some queries against one state of a collection."""

    def __init__(self, snapshot: Snapshot, queries: Representations, subset: Mask | None, threads: int) -> None:
        """subset (documents,): those that count; None for all."""
        self.snapshot = snapshot
        self.queries = queries
        self.views = snapshot.views
        self.counted = snapshot.lexical is not None and snapshot.lexical.counted
        self.terms = _weighted(snapshot, queries.lexical)
        self._subset = subset
        self._threads = threads

    def best(self, view: View, k: int, settings: TokenSearch) -> SearchHits:
        """Ids and scores (n, k), padded with -1 and -inf; `settings` are for token vectors."""
        if view == "multi":
            return self.snapshot.nearest_tokens(self.tokens(), k, settings, self._subset, self._threads)
        if view == "dense" and self.snapshot.dense is not None:
            return self.snapshot.dense.search(self._dense(), k, self._subset, self._threads)
        if view == "lexical" and self.snapshot.lexical is not None:
            there = min(k, self.snapshot.lexical.documents)  # room is made for as many as are asked for
            found = self.snapshot.lexical.search(self.terms, there, self._subset, self._threads)
            return replace(found, timings={stage: s / len(self.queries) for stage, s in found.timings.items()})
        return SearchHits.none(len(self.queries))

    def scores(self, view: View, query: int, documents: Numbers) -> Floats:
        """Documents (m,) rising -> (m,); -inf for a document without token vectors."""
        if view == "dense" and self.snapshot.dense is not None:
            return self.snapshot.dense.scores(self._dense()[query], documents)
        if view == "lexical" and self.snapshot.lexical is not None:
            return self.snapshot.lexical.scores(*self.terms[query], documents)
        scores = np.full(len(documents), -np.inf, np.float32)
        if view == "multi" and self.snapshot.multi is not None and len(documents):
            among = np.zeros(self.snapshot.multi.documents, bool)
            among[documents] = True
            found = self.snapshot.multi.search(self.tokens()[query], len(documents), EVERY_TOKEN, among)
            scores[np.searchsorted(documents, found.ids)] = found.scores
        return scores

    def tokens(self) -> Sequence[FloatArray]:
        """One matrix (vectors, d) a query."""
        if self.queries.multi is None:
            raise VectorsError("the queries have no token vectors")
        return [self.queries.multi[i] for i in range(len(self.queries))]

    def _dense(self) -> Floats:
        """(n, d)."""
        if self.queries.dense is None:
            raise VectorsError("the queries have no dense vectors")
        return self.queries.dense


def _weighted(snapshot: Snapshot, asked: LexicalWeights | None) -> LexicalWeights:
    """Counts become BM25's weights by how rare each term is now; a model's weights stay."""
    if asked is None or snapshot.lexical is None:
        return LexicalWeights([0], [], [])
    if not snapshot.lexical.counted:
        return asked
    rarity = idf(snapshot.lexical.frequencies(asked.terms), snapshot.lexical.documents)
    return LexicalWeights(asked.offsets, asked.terms, asked.weights * rarity)
