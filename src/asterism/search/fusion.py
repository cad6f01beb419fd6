"""Fuses several views into one score: candidates from some views, each scored by every view with a weight.

A view also scores the candidates that it did not find itself; missing scores are never taken as zero. Scores of token
vectors are means over the query's vectors, as in BGE-M3, so that a long query does not outweigh the other views.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..settings import VIEWS, HybridSearch, View
from ..views.hits import SearchHits
from ..views.searcher import Floats, Numbers
from .asked import Asked
from .profile import Profile

RRF_CONSTANT = 60  # of Cormack, Clarke and Büttcher, 2009
DEPTH = 200
LEAST_WEIGHT = 1e-9
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
STANDARD = Protocol(dict.fromkeys(VIEWS, 100), (1.0, 1.0, 1.0))  # on top of what each view is worth
COUNTED = Protocol(EVERY_VIEW, (1.0, 1.0, 1.0))  # lexical scores as shares of the largest possible one
WEIGHED = Protocol(EVERY_VIEW, (1.0, 0.3, 1.0))  # a model's own weights, as in BGE-M3
RANKS = Protocol(EVERY_VIEW, (1.0, 1.0, 1.0))


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
    linear = COUNTED if counted else WEIGHED
    found = M3.get(settings.fusion) or {"standard": STANDARD, "rrf": RANKS, "linear": linear}[settings.fusion]
    candidates = {view: settings.depth or depth for view, depth in found.candidates.items()}
    return Protocol(candidates, settings.weights or found.weights)


@dataclass(frozen=True)
class Candidates:
    """The documents (m,) ascending that the views found for one query; known: scores (m,) by view, NaN if unknown."""

    documents: Numbers
    known: Mapping[View, Floats]


def fuse(asked: Asked, k: int, settings: HybridSearch, profile: Profile) -> SearchHits:
    """Ids and scores (n, up to k), padded."""
    begin = time.perf_counter()
    found = find_candidates(asked, k, settings)
    fusing = time.perf_counter()

    def rank(query: int) -> tuple[Numbers, Floats]:
        documents = found[query].documents
        if not len(documents):
            return documents, np.empty(0, np.float32)
        totals = score_candidates(asked, query, found[query], settings, profile).totals()
        order = np.lexsort((documents, -totals))[:k]
        if settings.calibrated:
            totals = profile.calibrate(totals)
        return documents[order], totals[order]

    if asked.count == 1:
        rows = [rank(0)]
    else:
        with ThreadPoolExecutor(max(1, min(asked.threads, asked.count))) as team:
            rows = list(team.map(rank, range(asked.count)))
    return SearchHits.from_rows(rows, {"candidates": fusing - begin, "fuse": time.perf_counter() - fusing})


def find_candidates(asked: Asked, k: int, settings: HybridSearch) -> list[Candidates]:
    """The candidates of each query, with the scores that are already known from the search."""
    depths = choose_protocol(settings, asked.counted).candidates
    there = [view for view in depths if view in asked.searchers]
    if settings.fusion == "standard" and len(there) == len(VIEWS) and settings.tokens is None:
        # Looking for documents that only token vectors find takes most of the time, and changed nDCG@10 by at most 0.1
        # on the measured collections.
        there.remove("multi")
    hits = {view: asked.search(view, max(depths[view], k)) for view in there}
    # Scores of XTR come from the retrieved tokens only; those with a penalty are not what `scores` returns.
    plain = asked.tokens.method != "xtr" and not asked.tokens.length_penalty
    reusable = [view for view in there if view != "multi" or plain]
    return [_join_candidates(hits, reusable, query) for query in range(asked.count)]


def _join_candidates(hits: Mapping[View, SearchHits], reusable: Sequence[View], query: int) -> Candidates:
    rows = [found.ids[query][np.isfinite(found.scores[query])] for found in hits.values()]  # without the padding
    documents = np.unique(np.concatenate([np.empty(0, np.int64), *rows]))  # an empty index has no rows
    known: dict[View, Floats] = {}
    for view in reusable:
        scored = np.isfinite(hits[view].scores[query])  # false for documents without vectors too
        scores = np.full(len(documents), np.nan, np.float32)
        scores[np.searchsorted(documents, hits[view].ids[query][scored])] = hits[view].scores[query][scored]
        known[view] = scores
    return Candidates(documents, known)


def score_candidates(
    asked: Asked, query: int, candidates: Candidates, settings: HybridSearch, profile: Profile
) -> ViewScores:
    """Score the candidates by every view with a weight."""
    protocol = choose_protocol(settings, asked.counted)
    weights = dict(zip(VIEWS, protocol.weights, strict=True))
    counting = [view for view in VIEWS if view in asked.searchers and weights[view] > 0]
    scores = {view: _complete_scores(asked, view, query, candidates) for view in counting}
    if "multi" in scores:
        scores["multi"] = np.maximum(scores["multi"] / np.float32(len(asked.queries["multi"][query])), LEAST)
    if settings.fusion == "standard":
        shares = _standardise(asked, query, scores, settings, profile)
    elif settings.fusion == "rrf":
        shares = {
            view: np.float32(weights[view]) / (RRF_CONSTANT + compute_ranks(values)) for view, values in scores.items()
        }
    else:
        shares = {view: np.float32(weights[view]) * values for view, values in scores.items()}
        if settings.fusion == "linear" and asked.counted and "lexical" in shares:
            shares["lexical"] /= np.float32(asked.find_largest_lexical(query))
    return ViewScores(
        candidates.documents, scores, {view: np.asarray(share, np.float32) for view, share in shares.items()}
    )


def _standardise(
    asked: Asked,
    query: int,
    scores: Mapping[View, Floats],
    settings: HybridSearch,
    profile: Profile,
) -> dict[View, Floats]:
    """Scores (m,) by view -> shares (m,) of a total that is about 0 for a random document and 1 for a sentence's own.

    A view weighs what it is worth in the index, or as the settings say; one that reads the query with the model, also
    how well the model can read it.
    """
    weights = dict(zip(VIEWS, weigh_views(settings, asked.counted, profile), strict=True))
    trust = profile.trust(asked.readable[query])
    total = {view: weights[view] * (1.0 if view == "lexical" and asked.counted else trust) for view in scores}
    if sum(total.values()) < LEAST_WEIGHT:  # no other view has a weight: they are still to be ordered
        total = {view: weights[view] for view in scores}
    whole = max(sum(total.values()), LEAST_WEIGHT)
    shares = {}
    for view, values in scores.items():
        value = values.astype(np.float64)
        if view == "lexical" and asked.counted:
            value /= math.sqrt(asked.find_largest_lexical(query))
        one = profile.get(view)
        shares[view] = np.asarray(total[view] / whole * (value - one.background) / one.gap, np.float32)
    return shares


def _complete_scores(asked: Asked, view: View, query: int, candidates: Candidates) -> Floats:
    """(m,) the known scores, completed by the view's own scores."""
    if view not in candidates.known:
        return asked.scores(view, query, candidates.documents)
    scores = candidates.known[view].copy()
    missing = np.flatnonzero(np.isnan(scores))
    if len(missing):
        scores[missing] = asked.scores(view, query, candidates.documents[missing])
    return scores


def weigh_views(settings: HybridSearch, counted: bool, profile: Profile) -> tuple[float, float, float]:
    """The weights of dense, lexical and multi, for a query that the model can read."""
    dense, lexical, multi = choose_protocol(settings, counted).weights
    if settings.fusion != "standard" or settings.weights is not None:
        return dense, lexical, multi
    return profile.weigh("dense"), profile.weigh("lexical"), profile.weigh("multi")


def share_evenly(asked: Asked, settings: HybridSearch, profile: Profile) -> list[ViewScores]:
    """For each query, the candidates, and what each view adds if all have the same weight."""
    even = replace(settings, weights=(1.0, 1.0, 1.0))
    found = find_candidates(asked, 1, even)
    return [score_candidates(asked, query, candidates, even, profile) for query, candidates in enumerate(found)]


def compute_ranks(scores: Floats) -> npt.NDArray[np.float32]:
    """Scores (m,) -> ranks (m,), 1 for the best; equal scores share the best of their ranks."""
    ordered = np.sort(-scores)
    return np.asarray(1 + np.searchsorted(ordered, -scores), np.float32)
