"""Queries prepared for the views of one state of a collection."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from ..collection.snapshot import Snapshot
from ..representations import Representations
from ..settings import TokenSearch, View
from ..views.eligible import Mask
from ..views.hits import SearchHits
from ..views.searcher import Floats, Numbers, ViewSearcher


class Asked:
    """searchers, queries: by view, for each requested view that can be searched."""

    def __init__(
        self,
        snapshot: Snapshot,
        queries: Representations,
        views: Collection[View],
        tokens: TokenSearch,
        eligible: Mask | None,
        threads: int,
    ) -> None:
        """`tokens` says how token vectors are searched; eligible (documents,), None for all."""
        searchers: dict[View, ViewSearcher[Any, Any]] = {}
        if snapshot.dense is not None and "dense" in views:
            searchers["dense"] = snapshot.dense
        if snapshot.lexical is not None and "lexical" in views:
            searchers["lexical"] = snapshot.lexical
        if snapshot.multi is not None and "multi" in views:
            searchers["multi"] = snapshot.multi.with_settings(tokens)
        self.searchers = searchers
        self.queries: dict[View, Any] = {view: searcher.prepare(queries) for view, searcher in searchers.items()}
        self.count = len(queries)
        self.bm25 = None if snapshot.lexical is None else snapshot.lexical.bm25
        self.counted = self.bm25 is not None
        self.readable = queries.readable if queries.readable is not None else np.ones(len(queries))
        self.tokens = tokens
        self.eligible = eligible
        self.threads = threads

    def search(self, view: View, k: int) -> SearchHits:
        """Ids and scores (n, up to k); no hits for a view that cannot be searched."""
        if view not in self.searchers:
            return SearchHits.none(self.count)
        return self.searchers[view].search(self.queries[view], k, self.eligible, self.threads)

    def scores(self, view: View, query: int, documents: Numbers) -> Floats:
        """Documents (m,) ascending -> (m,)."""
        return self.searchers[view].scores(self.queries[view][query], documents)

    def find_largest_lexical(self, query: int) -> float:
        """The largest BM25 score that any document could have for the query; above 0."""
        largest = self.bm25.k1 + 1 if self.bm25 is not None else 1.0
        return max(float(largest * self.queries["lexical"][query][1].sum()), 1e-9)

    def explain(self, view: View, query: int, document: int) -> Floats:
        """(parts of the document, parts of the query)."""
        return self.searchers[view].explain(self.queries[view][query], document)
