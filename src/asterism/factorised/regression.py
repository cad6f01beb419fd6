"""What a query's score of any item is, given its scores of some: a ridge regression on the items' vectors.

The vector of an item is the column of its scores by the anchor queries, or any other embedding. With the first, and no
ridge, this is the CUR factorisation of ANNCUR's paper: e_q · pinv(C_anc) · R_anc.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

ROUNDING = float(np.finfo(np.float32).eps)  # of the scores; times the longer side, as in numpy's matrix_rank
RIDGES = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
MOST_ITEMS = 2000  # looked at to choose a ridge
FOLDS = 5


def solve(vectors: npt.ArrayLike, ridge: float) -> Doubles:
    """Vectors (m, d) of the items whose scores are known -> (d, m): times scores (m,), it gives the query's vector.

    V⁺ for ridge 0, else (VᵀV + λI)⁻¹Vᵀ with λ = ridge · the largest eigenvalue of VᵀV: the ridge means the same for
    scores of any scale. By eigenvalues of the smaller of VVᵀ and VᵀV, because V may have any rank.
    """
    values = np.asarray(vectors, np.float64)
    if not values.size:
        return np.zeros(values.shape[::-1])
    is_wide = values.shape[0] <= values.shape[1]
    sizes, directions = np.linalg.eigh(values @ values.T if is_wide else values.T @ values)
    largest = max(float(sizes[-1]), 0.0)
    kept = sizes > (ROUNDING * max(values.shape)) ** 2 * largest
    if not kept.any():
        return np.zeros(values.shape[::-1])
    inverse = (directions[:, kept] / (sizes[kept] + ridge * largest)) @ directions[:, kept].T
    return np.asarray(values.T @ inverse if is_wide else inverse @ values.T)


def find_basis(vectors: npt.ArrayLike) -> Doubles:
    """(m, d) -> (d, r) orthonormal: a basis of all sums of the vectors, without what comes from rounding."""
    values = np.asarray(vectors, np.float64)
    _, sizes, right = np.linalg.svd(values, full_matrices=False)
    return np.asarray(right[sizes > ROUNDING * max(values.shape) * sizes.max(initial=0.0)].T)


def fit_query(vectors: npt.ArrayLike, scores: npt.ArrayLike, ridge: float) -> Floats:
    """Vectors (m, d) and scores (m,) of some items -> the query's vector (d,)."""
    return np.asarray(solve(vectors, ridge) @ np.asarray(scores, np.float64), np.float32)


def find_slope(values: npt.ArrayLike, scores: npt.ArrayLike) -> float:
    """Of the line that predicts scores (m,) best from values (m,); 0 where all values are the same."""
    x, y = np.asarray(values, np.float64), np.asarray(scores, np.float64)
    spread = float(np.square(x - x.mean()).sum()) if len(x) else 0.0
    return float(((x - x.mean()) * (y - y.mean())).sum() / spread) if spread else 0.0


def choose_ridge(vectors: npt.NDArray[np.floating], anchors: Sequence[int], seed: int) -> float:
    """Item vectors (n, q) by q anchor queries, and the numbers of anchor items -> the ridge that predicts best.

    A fifth of the anchor queries in turn plays the new query: its scores of the anchor items are known, and those of
    other items are predicted from the remaining queries. Equally good ones: the smallest, which changes least.
    """
    rng = np.random.default_rng(seed)
    items, queries = vectors.shape
    if queries < 2 * FOLDS or not len(anchors):
        return RIDGES[0]
    looked = np.sort(rng.permutation(items)[:MOST_ITEMS])
    folds = np.array_split(rng.permutation(queries), FOLDS)
    errors = np.zeros(len(RIDGES))
    known, wanted = np.asarray(vectors[list(anchors)], np.float64), np.asarray(vectors[looked], np.float64)
    for held in folds:
        rest = np.setdiff1d(np.arange(queries), held)
        for number, ridge in enumerate(RIDGES):
            predicted = wanted[:, rest] @ (solve(known[:, rest], ridge) @ known[:, held])
            errors[number] += float(np.square(predicted - wanted[:, held]).sum())
    best = errors.min()
    tolerance = 1e-9 * float(np.square(wanted).sum()) + 1e-3 * best
    return RIDGES[int(np.flatnonzero(errors <= best + tolerance)[0])]
