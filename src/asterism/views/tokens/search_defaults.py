"""The values of search settings that are left at zero, from k and the index."""

from __future__ import annotations

import math
from typing import Any

from ...settings import TokenSearch

PROBES = 16
PROBES_MANY = 32  # for XTR, which scores only probed tokens, and for k above 100
CANDIDATES = 1024
MOST_RETRIEVED = 4096
RETRIEVED_SHARE = 3  # one in so many of the tokens in the probed lists


def count_warp_tokens(tokens: int, centroids: int, k: int) -> int:
    """WARP's t': √(8·N) for up to 2^16 centroids, beyond that 50,000 (k ≤ 100) or 100,000.

    WARP rounds the first down to whole thousands, which is zero for a small index; here it is not rounded.
    """
    if centroids <= 2**16:
        return max(1, min(tokens, math.isqrt(8 * tokens)))
    return 50_000 if k <= 100 else 100_000


def count_default_candidates(k: int, documents: int) -> int:
    """Grows as √documents, because more documents score close to the best."""
    return max(CANDIDATES, 16 * k, 8 * math.isqrt(documents))


def count_default_retrieved(probes: int, tokens: int, centroids: int) -> int:
    """XTR's k': a part of the tokens in the probed lists, because the least similar one in them says little.

    If all lists are probed, all tokens up to a limit.
    """
    if probes >= centroids:
        return MOST_RETRIEVED
    return max(1, min(MOST_RETRIEVED, probes * tokens // centroids // RETRIEVED_SHARE))


def fill_in_defaults(settings: TokenSearch, k: int, documents: int, tokens: int, centroids: int) -> dict[str, Any]:
    """The settings with zeros replaced by defaults; candidates, refine and rescore are at least k."""
    probes = settings.probes or (PROBES_MANY if settings.method == "xtr" or k > 100 else PROBES)
    candidates = max(settings.candidates or count_default_candidates(k, documents), settings.refine, k)
    return {
        "method": settings.method,
        "probes": probes,
        "candidates": candidates,
        "refine": max(settings.refine or candidates // 2, k),
        "confidence": float(settings.confidence),
        "rescore": max(settings.rescore or 2 * k, k),
        "imputation": settings.imputation,
        "retrieved": settings.retrieved or count_default_retrieved(probes, tokens, centroids),
        "cluster_tokens": settings.cluster_tokens or count_warp_tokens(tokens, centroids, k),
        "length_penalty": settings.length_penalty,
        "threads": settings.threads,
    }
