"""Examines one document under a plan: its scores by view, and what each adds to the total."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from ..settings import TokenSearch, View
from ..views.searcher import Floats
from ..views.tokens.searcher import TokenSearcher
from .asked import Asked
from .fusion import Candidates, find_candidates, score_candidates
from .plan import SearchPlan


@dataclass(frozen=True)
class SeenTokens:
    """Similarities (tokens, q), the tokens' centroids (tokens,), and what their number takes from the score.

    For XTR also the imputed similarity of each query token (q,) and the centroids that it probed.
    """

    similarities: Floats
    centroids: npt.NDArray[np.uint32]
    imputed: Floats
    probed: list[npt.NDArray[np.uint32]]
    length_penalty: float


@dataclass(frozen=True)
class SeenTerms:
    """The query's terms (n,) and what each adds to the score (n,)."""

    terms: npt.NDArray[np.int64]
    added: Floats


@dataclass(frozen=True)
class Seen:
    """By view, its score and what it adds to the total; tokens and terms if the search uses these views."""

    scores: Mapping[View, float]
    shares: Mapping[View, float]
    tokens: SeenTokens | None = None
    terms: SeenTerms | None = None


def examine(asked: Asked, at: int, plan: SearchPlan, k: int) -> Seen:
    """The document at position `at`, for the first query; k is that of the search."""
    tokens = _see_tokens(asked, at, plan, k) if "multi" in asked.searchers else None
    terms = _see_terms(asked, at) if "lexical" in asked.searchers else None
    if plan.method != "hybrid":
        score = float(asked.scores(plan.view, 0, np.array([at]))[0])
        return Seen({plan.view: score}, {plan.view: score}, tokens, terms)
    candidates = np.union1d(find_candidates(asked, k, plan.hybrid)[0].documents, [at])
    found = score_candidates(asked, 0, Candidates(candidates, {}), plan.hybrid, plan.profile)
    row = int(np.searchsorted(candidates, at))
    scores = {view: float(values[row]) for view, values in found.scores.items()}
    shares = {view: float(values[row]) for view, values in found.shares.items()}
    return Seen(scores, shares, tokens if "multi" in shares else None, terms if "lexical" in shares else None)


def _see_tokens(asked: Asked, at: int, plan: SearchPlan, k: int) -> SeenTokens:
    searcher, query = cast(TokenSearcher, asked.searchers["multi"]), asked.queries["multi"][0]
    if plan.method == "hybrid":  # scores every token, no matter how candidates are found
        searcher = searcher.with_settings(TokenSearch())
    imputed: Floats = np.zeros(0, np.float32)
    probed: list[npt.NDArray[np.uint32]] = []
    if plan.method == "xtr":
        imputed, probed = searcher.retrieval(query, k, asked.eligible)
    penalty = searcher.penalise_length(query, at)
    return SeenTokens(searcher.explain(query, at), searcher.read_centroids(at), imputed, probed, penalty)


def _see_terms(asked: Asked, at: int) -> SeenTerms:
    return SeenTerms(asked.queries["lexical"][0][0], asked.explain("lexical", 0, at)[0])
