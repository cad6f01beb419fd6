"""Fuses several views into one score: candidates from some views, each scored by every view with a weight.

A view also scores the candidates that it did not find itself; missing scores are never taken as zero. Scores of token
vectors are means over the query's vectors, as in BGE-M3, so that a long query does not outweigh the other views.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..settings import VIEWS, HybridSearch, View
from ..views.hits import SearchHits
from ..views.searcher import Floats, Numbers
from .asked import Asked

RRF_CONSTANT = 60  # of Cormack, Clarke and Büttcher, 2009
DEPTH = 200
LEAST = -1.0  # the score of a document without vectors: the smallest mean of cosines


@dataclass(frozen=True)
class Protocol:
    """Number of candidates by view, and the weights of dense, lexical and multi."""

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
COUNTED = Protocol(EVERY_VIEW, (1.0, 1.0, 1.0))  # lexical scores as shares of the largest possible one
WEIGHED = Protocol(EVERY_VIEW, (1.0, 0.3, 1.0))  # a model's own weights, as in BGE-M3
RANKS = Protocol(EVERY_VIEW, (1.0, 1.0, 1.0))
EVEN = HybridSearch(weights=(1.0, 1.0, 1.0))


@dataclass(frozen=True)
class ViewScores:
    """Candidates (m,) ascending; by view with a weight, its scores (m,) and what they add to the total (m,)."""

    documents: Numbers
    scores: dict[View, Floats]
    shares: dict[View, Floats]

    def totals(self) -> Floats:
        """(m,)."""
        return np.asarray(np.sum(list(self.shares.values()), axis=0), np.float32)


def choose_protocol(settings: HybridSearch, counted: bool) -> Protocol:
    """The protocol of the settings, with defaults filled in; `counted`: lexical scores are BM25's."""
    found = M3.get(settings.fusion) or (RANKS if settings.fusion == "rrf" else COUNTED if counted else WEIGHED)
    candidates = {view: settings.depth or depth for view, depth in found.candidates.items()}
    return Protocol(candidates, settings.weights or found.weights)


@dataclass(frozen=True)
class Candidates:
    """The documents (m,) ascending that the views found for one query; known: scores (m,) by view, NaN if unknown."""

    documents: Numbers
    known: Mapping[View, Floats]


def fuse(asked: Asked, k: int, settings: HybridSearch) -> SearchHits:
    """Ids and scores (n, up to k), padded."""
    protocol = choose_protocol(settings, asked.counted)
    begin = time.perf_counter()
    found = find_candidates(asked, k, protocol)
    fusing = time.perf_counter()

    def rank(query: int) -> tuple[Numbers, Floats]:
        documents = found[query].documents
        if not len(documents):
            return documents, np.empty(0, np.float32)
        totals = score_candidates(asked, query, found[query], settings).totals()
        order = np.lexsort((documents, -totals))[:k]
        return documents[order], totals[order]

    if asked.count == 1:
        rows = [rank(0)]
    else:
        with ThreadPoolExecutor(max(1, min(asked.threads, asked.count))) as team:
            rows = list(team.map(rank, range(asked.count)))
    return SearchHits.from_rows(rows, {"candidates": fusing - begin, "fuse": time.perf_counter() - fusing})


def find_candidates(asked: Asked, k: int, protocol: Protocol) -> list[Candidates]:
    """The candidates of each query, with the scores that are already known from the search."""
    there = [view for view in protocol.candidates if view in asked.searchers]
    hits = {view: asked.search(view, max(protocol.candidates[view], k)) for view in there}
    estimated = asked.tokens.method == "xtr"  # scores from the retrieved tokens only, which are not reused
    reusable = [view for view in there if view != "multi" or not estimated]
    return [_join_candidates(hits, reusable, query) for query in range(asked.count)]


def _join_candidates(hits: Mapping[View, SearchHits], reusable: Sequence[View], query: int) -> Candidates:
    rows = [found.ids[query] for found in hits.values()]
    documents = np.unique(np.concatenate([np.empty(0, np.int64), *rows]))  # an empty index has no rows
    documents = documents[np.searchsorted(documents, 0) :]  # without the padding
    known: dict[View, Floats] = {}
    for view in reusable:
        ids = hits[view].ids[query]
        scores = np.full(len(documents), np.nan, np.float32)
        scores[np.searchsorted(documents, ids[ids >= 0])] = hits[view].scores[query][ids >= 0]
        known[view] = scores
    return Candidates(documents, known)


def score_candidates(asked: Asked, query: int, candidates: Candidates, settings: HybridSearch) -> ViewScores:
    """Score the candidates by every view with a weight."""
    protocol = choose_protocol(settings, asked.counted)
    weights = dict(zip(VIEWS, protocol.weights, strict=True))
    counting = [view for view in VIEWS if view in asked.searchers and weights[view] > 0]
    scores = {view: _complete_scores(asked, view, query, candidates) for view in counting}
    if "multi" in scores:
        scores["multi"] = np.maximum(scores["multi"] / np.float32(len(asked.queries["multi"][query])), LEAST)
    if settings.fusion == "rrf":
        shares = {
            view: np.float32(weights[view]) / (RRF_CONSTANT + compute_ranks(values)) for view, values in scores.items()
        }
    else:
        shares = {view: np.float32(weights[view]) * values for view, values in scores.items()}
        if settings.fusion == "linear" and asked.bm25 is not None and "lexical" in shares:
            highest = np.float32((asked.bm25.k1 + 1) * asked.queries["lexical"][query][1].sum())
            shares["lexical"] /= max(highest, np.float32(1e-9))
    return ViewScores(
        candidates.documents, scores, {view: np.asarray(share, np.float32) for view, share in shares.items()}
    )


def _complete_scores(asked: Asked, view: View, query: int, candidates: Candidates) -> Floats:
    """(m,) the known scores, completed by the view's own scores."""
    if view not in candidates.known:
        return asked.scores(view, query, candidates.documents)
    scores = candidates.known[view].copy()
    missing = np.flatnonzero(np.isnan(scores))
    if len(missing):
        scores[missing] = asked.scores(view, query, candidates.documents[missing])
    return scores


def share_evenly(asked: Asked) -> list[ViewScores]:
    """For each query, the candidates of every view and what each view adds in a linear sum with weights of 1."""
    found = find_candidates(asked, 1, choose_protocol(EVEN, asked.counted))
    return [score_candidates(asked, query, candidates, EVEN) for query, candidates in enumerate(found)]


def compute_ranks(scores: Floats) -> npt.NDArray[np.float32]:
    """Scores (m,) -> ranks (m,), 1 for the best; equal scores share the best of their ranks."""
    ordered = np.sort(-scores)
    return np.asarray(1 + np.searchsorted(ordered, -scores), np.float32)
