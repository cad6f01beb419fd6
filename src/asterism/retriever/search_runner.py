"""Runs searches of an index: encodes queries, searches the newest state, explains scores."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..collection.collection import Collection
from ..collection.kept_views import Views
from ..collection.snapshot import Snapshot
from ..errors import TextError
from ..representations import Representations
from ..results import Explanation, Ranking
from ..search.examine import Seen, examine
from ..search.fusion import ViewScores, share_evenly
from ..search.plan import SearchPlan
from ..search.profile import UNMEASURED, Profile
from ..settings import (
    MOST_THREADS,
    HybridSearch,
    TokenSearch,
    View,
    check_whole_number,
    count_threads,
)
from ..storage.facts import Facts
from ..views.eligible import Mask
from ..views.hits import SearchHits
from .checks import check_id, check_query
from .explain import Explainer
from .long_queries import encode_or_cut
from .profiling import read_profile
from .represent import encode_views, needs_model

if TYPE_CHECKING:  # onnxruntime is loaded when the first text is encoded
    from ..encoders.encoder import Encoder

FUSION = "fusion"  # the name of the fact with the default settings of hybrid search

Filter = Mapping[str, Any] | None
SearchSettings = TokenSearch | HybridSearch | None


def read_fusion(collection: Collection) -> HybridSearch:
    """The stored settings of hybrid search; the defaults if there are none."""
    return Facts({FUSION: collection.facts(FUSION)}, f"{collection.path}: its facts").read(
        FUSION, HybridSearch.from_json
    )


class SearchRunner:
    """The searches of one retriever; `encoder` loads the model when it is first needed."""

    def __init__(self, collection: Collection, encoder: Callable[[], Encoder]) -> None:
        """Use the views of the collection."""
        self._collection = collection
        self._encoder = encoder

    @property
    def _views(self) -> Views:
        return self._collection.views()

    def plan(self, method: str | None, settings: SearchSettings) -> SearchPlan:
        """Check a method and its settings; for hybrid search, with those of the index."""
        return SearchPlan.from_request(method, settings, self._views.names, self.read_fusion, self.read_profile)

    def read_fusion(self) -> HybridSearch:
        """The default settings of hybrid search."""
        return read_fusion(self._collection)

    def read_profile(self) -> Profile:
        """How to read the scores of each view."""
        return read_profile(self._collection) or UNMEASURED

    def search_many(
        self,
        queries: Sequence[str],
        k: int,
        method: str | None,
        filter: Filter,
        settings: SearchSettings,
        threads: int,
        offset: int = 0,
        prepare: Callable[[Snapshot], Snapshot] = lambda snapshot: snapshot,
    ) -> list[Ranking]:
        """See Retriever.search_many. `prepare` may exchange the searchers of the state that is searched."""
        if isinstance(queries, str | bytes) or not isinstance(queries, Sequence):
            raise TextError(f"a {type(queries).__name__} was given, expected a list of queries; for one, use search")
        plan = self.plan(method, settings)
        skipped = check_whole_number("offset", offset, 0)
        wanted = check_whole_number("k", k, 1) + skipped
        workers = count_threads(check_whole_number("threads", threads, 0, MOST_THREADS))
        for query in queries:
            check_query(query)
        if not queries:
            return []
        if needs_model(self._views, plan.views(self._views.names)):
            self._encoder()  # loaded before the time is measured
        begin = time.perf_counter()
        encoded = self.encode(queries, plan)
        encoding = time.perf_counter() - begin

        def search(snapshot: Snapshot, eligible: Mask | None) -> SearchHits:
            return plan.search(prepare(snapshot), encoded, wanted, eligible, workers)

        found = self._collection.find(search, filter)
        timings = {"encode": encoding, **found[0].timings}
        means = {stage: seconds / len(queries) for stage, seconds in timings.items()}
        pairs = zip(queries, (one.documents for one in found), strict=True)
        return [Ranking.from_scores(query, plan.method, scored, means, offset=skipped) for query, scored in pairs]

    def explain(
        self, query: str, id: str, k: int, method: str | None, filter: Filter, settings: SearchSettings
    ) -> Explanation:
        """See Retriever.explain."""
        plan = self.plan(method, settings)
        check_query(query)
        check_id(id)
        wanted = check_whole_number("k", k, 1)
        (searched,), encoded = self._encode_or_cut([query], plan)

        def look(snapshot: Snapshot, at: int, eligible: Mask | None) -> Seen:
            return examine(plan.ask(snapshot, encoded, eligible, 1), at, plan, wanted)

        document, seen = self._collection.look_at(id, look, filter)
        return replace(Explainer(searched, document, self._views, self._encoder).explain(seen, plan), query=query)

    def share_evenly(self, queries: Sequence[str]) -> list[tuple[list[str], dict[View, npt.NDArray[np.float32]]]]:
        """See Retriever.shares."""
        plan = self.plan("hybrid", None)
        encoded = self.encode(queries, plan)
        scored: list[ViewScores] = []

        def look(snapshot: Snapshot, eligible: Mask | None) -> SearchHits:
            asked = plan.ask(snapshot, encoded, eligible, count_threads(0))
            scored[:] = share_evenly(asked, plan.hybrid, plan.profile)
            return SearchHits.from_rows([(one.documents, one.totals()) for one in scored])

        rows = self._collection.find(look)
        ids = [[document.id for document, _ in row.documents] for row in rows]
        return list(zip(ids, [one.shares for one in scored], strict=True))

    def encode(self, queries: Sequence[str], plan: SearchPlan) -> Representations:
        """The views of some queries that a plan needs; of a query that is too long, those of its beginning."""
        return self._encode_or_cut(queries, plan)[1]

    def _encode_or_cut(self, queries: Sequence[str], plan: SearchPlan) -> tuple[list[str], Representations]:
        views, wanted = self._views, plan.views(self._views.names)
        return encode_or_cut(queries, wanted, lambda texts: encode_views(texts, "query", views, wanted, self._encoder))
