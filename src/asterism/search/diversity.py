"""Maximal marginal relevance (Carbonell and Goldstein, 1998): good answers that do not repeat each other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..settings import check_number

SMALLEST_NORM = 1e-12

Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]


def pick_diverse(query: Floats, vectors: Floats, k: int, balance: float) -> tuple[Places, Floats]:
    """Query (d,), candidates (m, d) -> places (up to k,) in the order of choice, and their marginal relevance.

    Each choice has the largest balance · cos(query, it) - (1 - balance) · max cos(it, one that was chosen before): at a
    balance of 1 only relevance counts, at 0 only difference. Of equal ones the first is chosen.
    """
    share = check_number("balance", balance, 0, 1)
    rows = _normalise(vectors)
    relevance = rows @ _normalise(query[None])[0]
    repeated = np.zeros(len(rows), np.float32)  # nothing was chosen yet
    left = np.ones(len(rows), bool)
    places: list[int] = []
    scores: list[float] = []
    for _ in range(min(k, len(rows))):
        # The first choice is the most relevant one, whatever the balance.
        worth = share * relevance - (1 - share) * repeated if places else relevance
        best = int(np.argmax(np.where(left, worth, -np.inf)))
        scores.append(float(worth[best] if places else share * relevance[best]))
        similar = rows @ rows[best]
        repeated = np.maximum(repeated, similar) if places else similar
        places.append(best)
        left[best] = False
    return np.array(places, np.int64), np.array(scores, np.float32)


def _normalise(rows: Floats) -> Floats:
    """Rows (n, d) -> (n, d) of length 1; zeros stay."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(norms, SMALLEST_NORM), np.float32)
