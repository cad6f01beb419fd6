"""One document under a plan: what each view sees of it, and what that adds to its score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..settings import View
from ..views.tokens.merge import Mask
from .asked_views import AskedViews, Floats
from .fusion import candidates_of, fused
from .plan import SearchPlan


@dataclass(frozen=True)
class SeenTokens:
    """Similarities (tokens, q) and the tokens' centroids (tokens,).

    For XTR also what each query token imputes (q,) and which centroids it probed.
    """

    similarities: Floats
    centroids: npt.NDArray[np.uint32]
    imputed: Floats
    probed: list[npt.NDArray[np.uint32]]


@dataclass(frozen=True)
class SeenTerms:
    """The query's terms (n,) and what each adds (n,)."""

    terms: npt.NDArray[np.int64]
    added: Floats


@dataclass(frozen=True)
class Seen:
    """Of each view that counts its score and what it adds to the whole; tokens and terms where there are such views."""

    scores: Mapping[View, float]
    shares: Mapping[View, float]
    tokens: SeenTokens | None = None
    terms: SeenTerms | None = None


def examined(asked: AskedViews, at: int, plan: SearchPlan, k: int, subset: Mask | None) -> Seen:
    """The document at a place, for the first query; k and the subset are those of the search."""
    tokens = _tokens(asked, at, plan, k, subset) if "multi" in plan.views(asked.views) else None
    terms = _terms(asked, at) if "lexical" in plan.views(asked.views) else None
    if plan.method != "hybrid":
        score = float(asked.scores(plan.view, 0, np.array([at]))[0])
        return Seen({plan.view: score}, {plan.view: score}, tokens, terms)
    candidates = np.union1d(candidates_of(asked, k, plan.hybrid, plan.tokens)[0], [at])
    found, row = fused(asked, 0, candidates, plan.hybrid), int(np.searchsorted(candidates, at))
    scores = {view: float(values[row]) for view, values in found.scores.items()}
    shares = {view: float(values[row]) for view, values in found.shares.items()}
    return Seen(scores, shares, tokens if "multi" in shares else None, terms if "lexical" in shares else None)


def _tokens(asked: AskedViews, at: int, plan: SearchPlan, k: int, subset: Mask | None) -> SeenTokens | None:
    searcher, query = asked.snapshot.multi, asked.tokens()[0]
    if searcher is None:
        return None
    imputed: Floats = np.zeros(0, np.float32)
    probed: list[npt.NDArray[np.uint32]] = []
    if plan.method == "xtr":
        imputed, probed = searcher.retrieval(query, k, plan.tokens, subset)
    similarities = searcher.similarities(query, at, finest=plan.method != "xtr")  # XTR sees the codes alone
    return SeenTokens(similarities, searcher.centroids_of(at), imputed, probed)


def _terms(asked: AskedViews, at: int) -> SeenTerms | None:
    if asked.snapshot.lexical is None:
        return None
    terms, weights = asked.terms[0]
    return SeenTerms(terms, asked.snapshot.lexical.contributions(terms, weights, at))
