"""The protocol that the searchers of all views implement."""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from ..representations import Representations
from .eligible import Mask
from .hits import SearchHits

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int64]
Queries = TypeVar("Queries")
Query = TypeVar("Query", contravariant=True)


class ViewSearcher(Protocol[Queries, Query]):
    """The open segments of one view. Documents are numbered consecutively over all segments.

    Queries are what `prepare` returns; queries[i] is one query.
    """

    documents: int

    def prepare(self, queries: Representations) -> Queries:
        """This view of the queries, checked once and usable for any number of calls."""

    def search(self, queries: Queries, k: int, eligible: Mask | None = None, threads: int = 1) -> SearchHits:
        """Ids and scores (n, up to k), best first, padded with -1 and -inf; eligible (documents,), None for all.

        Timings are totals over the queries.
        """

    def scores(self, query: Query, documents: Numbers) -> Floats:
        """Documents (m,) ascending -> (m,), bit for bit the scores of a search."""

    def explain(self, query: Query, document: int) -> Floats:
        """(parts of the document, parts of the query): the score is the sum over columns of their largest value."""
