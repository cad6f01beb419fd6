"""A search whose hits do not repeat each other."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..collection.snapshot import Snapshot
from ..errors import SettingError
from ..results import Ranking
from ..search.diversity import pick_diverse
from ..settings import check_number, check_whole_number
from ..views.eligible import Mask
from ..views.hits import SearchHits
from .checks import check_query
from .retriever import Retriever


def search_diverse(
    retriever: Retriever,
    query: str,
    k: int = 10,
    *,
    candidates: int = 50,
    balance: float = 0.5,
    method: str | None = None,
    filter: Mapping[str, Any] | None = None,
) -> Ranking:
    """Up to k hits by maximal marginal relevance among the `candidates` best of a search; scores are that relevance.

    balance: see pick_diverse. The query and the documents are compared by their dense vectors, which the index must
    have; `method` and `filter` are those of the search.
    """
    check_query(query)
    wanted = check_whole_number("k", k, 1)
    depth = max(wanted, check_whole_number("candidates", candidates, 1))
    check_number("balance", balance, 0, 1)
    if "dense" not in retriever.views:
        there = f"the index has {', '.join(retriever.views)}"
        raise SettingError(f"diverse hits need the view 'dense' to compare documents, {there}: build it with --views")
    runner = retriever.runner
    plan = runner.plan(method, None)
    begin = time.perf_counter()
    encoded = runner.encode([query], plan)
    dense = encoded if encoded.dense is not None else runner.encode([query], runner.plan("dense", None))

    def search(snapshot: Snapshot, eligible: Mask | None) -> SearchHits:
        if snapshot.dense is None:  # nothing was added yet
            return SearchHits.none(1)
        hits = plan.search(snapshot, encoded, depth, eligible, 1)
        places = hits.ids[0][np.isfinite(hits.scores[0])]
        vectors = snapshot.dense.read_vectors(places)
        chosen, scores = pick_diverse(snapshot.dense.prepare(dense)[0], vectors, wanted, balance)
        return SearchHits.from_rows([(places[chosen], scores)])

    found = retriever.collection.find(search, filter)[0]
    return Ranking.from_scores(query, plan.method, found.documents, {"total": time.perf_counter() - begin})
