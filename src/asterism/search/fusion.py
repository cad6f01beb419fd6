"""Several views, one score: candidates of some views, each scored by every view that counts.

A candidate that a view did not find itself is scored by it all the same; nothing is taken for zero.
Multi-vector scores count as means over the query's vectors, as in BGE-M3, so that a long query does not outweigh the
other views.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..settings import VIEWS, HybridSearch, TokenSearch, View
from ..views.hits import SearchHits
from ..views.lexical.bm25 import K1
from .asked_views import AskedViews, Floats, Numbers

RRF_CONSTANT = 60  # Cormack, Clarke and Büttcher's
DEPTH = 200
LEAST = -1.0  # a document without vectors, by means of cosines


@dataclass(frozen=True)
class Protocol:
    """From which views how many candidates come, and the weights of dense, lexical and multi."""

    candidates: Mapping[View, int]
    weights: tuple[float, float, float]


M3 = {
    "m3-dense+lexical": Protocol({"dense": 1000, "lexical": 1000}, (1.0, 0.3, 0.0)),
    "m3-multi": Protocol({"dense": 200}, (0.0, 0.0, 1.0)),
    "m3-all": Protocol({"dense": 200}, (1.0, 0.3, 1.0)),
    "m3-long-dense+lexical": Protocol({"dense": 1000, "lexical": 1000}, (0.2, 0.8, 0.0)),
    "m3-long-all": Protocol({"dense": 200}, (0.15, 0.5, 0.35)),
}
EVERY_VIEW = dict.fromkeys(VIEWS, DEPTH)
COUNTED = Protocol(EVERY_VIEW, (1.0, 1.0, 1.0))  # lexical scores as shares of the most that BM25 can give the query
WEIGHED = Protocol(EVERY_VIEW, (1.0, 0.3, 1.0))  # a model's own weights, as in BGE-M3
RANKS = Protocol(EVERY_VIEW, (1.0, 1.0, 1.0))
EVEN = HybridSearch(weights=(1.0, 1.0, 1.0))


@dataclass(frozen=True)
class ViewScores:
    """Candidates (m,) rising, and of each view that counts its scores (m,) and what they add to the whole (m,)."""

    documents: Numbers
    scores: dict[View, Floats]
    shares: dict[View, Floats]

    def totals(self) -> Floats:
        """(m,)."""
        return np.asarray(np.sum(list(self.shares.values()), axis=0), np.float32)


def protocol_of(settings: HybridSearch, counted: bool) -> Protocol:
    """What the settings say, filled in; `counted`: lexical scores are BM25's."""
    found = M3.get(settings.fusion) or (RANKS if settings.fusion == "rrf" else COUNTED if counted else WEIGHED)
    candidates = {view: settings.depth or depth for view, depth in found.candidates.items()}
    return Protocol(candidates, settings.weights or found.weights)


def fused_hits(asked: AskedViews, k: int, settings: HybridSearch, tokens: TokenSearch, threads: int) -> SearchHits:
    """Ids and scores (n, up to k), padded; `tokens` says how token vectors are searched for candidates."""
    queries = len(asked.queries)
    begin = time.perf_counter()
    found = candidates_of(asked, k, settings, tokens)
    fusing = time.perf_counter()
    with ThreadPoolExecutor(max(1, min(threads, queries))) as team:
        rows = list(team.map(lambda i: _ranked(asked, i, found[i], settings, k), range(queries)))
    timings = {"candidates": (fusing - begin) / queries, "fuse": (time.perf_counter() - fusing) / queries}
    return replace(SearchHits.of(rows), timings=timings)


def candidates_of(asked: AskedViews, k: int, settings: HybridSearch, tokens: TokenSearch) -> list[Numbers]:
    """For each query the documents (m,) that its views found, rising."""
    protocol = protocol_of(settings, asked.counted)
    there = [view for view in protocol.candidates if view in asked.views]
    hits = [asked.best(view, max(protocol.candidates[view], k), tokens).ids for view in there]
    nobody = np.empty(0, np.int64)  # an empty index has no view that could be searched
    rows = [np.unique(np.concatenate([nobody, *(ids[i] for ids in hits)])) for i in range(len(asked.queries))]
    return [row[row >= 0] for row in rows]


def fused(asked: AskedViews, query: int, documents: Numbers, settings: HybridSearch) -> ViewScores:
    """Documents (m,) rising, scored by every view with a weight."""
    protocol = protocol_of(settings, asked.counted)
    weights = dict(zip(VIEWS, protocol.weights, strict=True))
    scores = {view: asked.scores(view, query, documents) for view in VIEWS if view in asked.views and weights[view] > 0}
    if "multi" in scores:
        scores["multi"] = np.maximum(scores["multi"] / np.float32(len(asked.tokens()[query])), LEAST)
    if settings.fusion == "rrf":
        shares = {view: np.float32(weights[view]) / (RRF_CONSTANT + ranks(values)) for view, values in scores.items()}
    else:
        shares = {view: np.float32(weights[view]) * values for view, values in scores.items()}
        if settings.fusion == "linear" and asked.counted and "lexical" in shares:
            shares["lexical"] /= max(np.float32((K1 + 1) * asked.terms[query][1].sum()), np.float32(1e-9))
    return ViewScores(documents, scores, {view: np.asarray(share, np.float32) for view, share in shares.items()})


def even_shares(asked: AskedViews, tokens: TokenSearch) -> list[ViewScores]:
    """For each query the candidates of every view, and what each view adds in a linear sum with weights of 1."""
    found = candidates_of(asked, 1, EVEN, tokens)
    return [fused(asked, i, documents, EVEN) for i, documents in enumerate(found)]


def ranks(scores: Floats) -> npt.NDArray[np.float32]:
    """(m,) -> (m,): 1 for the best; equal scores share the best of their ranks."""
    ordered = np.sort(-scores)
    return np.asarray(1 + np.searchsorted(ordered, -scores), np.float32)


def _ranked(
    asked: AskedViews, query: int, documents: Numbers, settings: HybridSearch, k: int
) -> tuple[Numbers, Floats]:
    if not len(documents):
        return documents, np.empty(0, np.float32)
    totals = fused(asked, query, documents, settings).totals()
    order = np.lexsort((documents, -totals))[:k]
    return documents[order], totals[order]
