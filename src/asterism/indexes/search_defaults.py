"""What a search setting of zero means, given k and the index."""

from __future__ import annotations

import math
from typing import Any

from ..settings import TokenSearch

PROBES_XTR = 32
CANDIDATES = 1024
RETRIEVED = 4096


def warp_tokens(tokens: int, centroids: int, k: int) -> int:
    """WARP's t': √(8·N) for up to 2^16 centroids, beyond that 50,000 (k ≤ 100) or 100,000.

    WARP rounds the first down to whole thousands, which is zero for a small index; here it is not rounded.
    """
    if centroids <= 2**16:
        return max(1, min(tokens, math.isqrt(8 * tokens)))
    return 50_000 if k <= 100 else 100_000


def colbert_probes(k: int) -> int:
    """More documents wanted, more lists looked at."""
    return 8 if k <= 10 else 16 if k <= 100 else 32


def plan_of(settings: TokenSearch, k: int, tokens: int, centroids: int) -> dict[str, Any]:
    """The settings with zeros filled in; nothing smaller than k."""
    candidates = max(settings.candidates or max(CANDIDATES, 16 * k), k)
    return {
        "method": settings.method,
        "probes": settings.probes or (PROBES_XTR if settings.method == "xtr" else colbert_probes(k)),
        "candidates": candidates,
        "refine": min(max(settings.refine or candidates // 2, k), candidates),
        "confidence": float(settings.confidence),
        "rescore": max(settings.rescore or 2 * k, k),
        "imputation": settings.imputation,
        "retrieved": settings.retrieved or RETRIEVED,
        "cluster_tokens": settings.cluster_tokens or warp_tokens(tokens, centroids, k),
        "threads": settings.threads,
    }
