"""The regression of one query whose known scores become more: what was computed for the first ones is kept."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .regression import ROUNDING, Doubles, Floats, solve

SMALL = 64  # rows; for fewer, all eigenvalues are found at once
STEPS = 16  # of Lanczos's method; a ridge need not be exact
MARGIN = 10.0  # how far the smallest eigenvalue must be above rounding to be no rounding


class GrowingFit:
    """Vectors (m, d) and scores (m,) of items; `solve` gives what `fit_query` gives.

    Without eigenvectors, which take ten times as long as the equations.
    """

    def __init__(self, dimensions: int, ridge: float) -> None:
        """Nothing is known yet."""
        self._ridge = ridge
        self.rows: Doubles = np.empty((0, dimensions))
        self.scores: Doubles = np.empty(0)
        self._products: Doubles = np.empty((0, 0))  # (m, m)

    def add(self, rows: npt.ArrayLike, scores: npt.ArrayLike) -> None:
        """More items (a, d) with their scores (a,)."""
        new = np.asarray(rows, np.float64)
        beside, own = self.rows @ new.T, new @ new.T
        self._products = np.block([[self._products, beside], [beside.T, own]])
        self.rows = np.concatenate([self.rows, new])
        self.scores = np.concatenate([self.scores, np.asarray(scores, np.float64)])

    def solve(self) -> Floats:
        """The query's vector (d,)."""
        rows, scores = self.rows, self.scores
        if len(rows) <= rows.shape[1]:
            weights = self._weigh(self._products, scores)
            if weights is not None:
                return np.asarray(rows.T @ weights, np.float32)
        else:
            found = self._weigh(rows.T @ rows, rows.T @ scores)
            if found is not None:
                return np.asarray(found, np.float32)
        return np.asarray(solve(rows, self._ridge) @ scores, np.float32)

    def _weigh(self, products: Doubles, wanted: Doubles) -> Doubles | None:
        """(a, a) and (a,) -> (products + λI)⁻¹ wanted; None if some eigenvalues are nothing but rounding."""
        if len(products) <= SMALL:
            return None
        largest = find_largest_eigenvalue(products)
        least = (ROUNDING * max(self.rows.shape)) ** 2 * largest
        if self._ridge * largest > MARGIN * least:
            return np.asarray(np.linalg.solve(products + self._ridge * largest * np.eye(len(products)), wanted))
        try:
            inverse: Doubles = np.asarray(np.linalg.inv(products), np.float64)
        except np.linalg.LinAlgError:
            return None
        smallest = find_largest_eigenvalue(inverse)
        if not 0 < smallest * MARGIN * least < 1:  # 1 / smallest is the smallest eigenvalue
            return None
        return np.asarray(np.linalg.solve(products + self._ridge * largest * np.eye(len(products)), wanted))


def find_largest_eigenvalue(matrix: Doubles) -> float:
    """The eigenvalue of a symmetric matrix (a, a) that is farthest from 0, without its sign; by Lanczos's method."""
    size = len(matrix)
    if size <= SMALL:
        return float(np.abs(np.linalg.eigvalsh(matrix)).max())
    basis = np.zeros((STEPS, size))
    direction = np.random.default_rng(0).normal(size=size)
    inside = np.zeros((STEPS, STEPS))
    for step in range(STEPS):
        basis[step] = direction / np.linalg.norm(direction)
        direction = matrix @ basis[step]
        inside[step, : step + 1] = basis[: step + 1] @ direction
        for _ in range(2):  # once is not enough: rounding brings back what was taken out
            direction = direction - (basis[: step + 1] @ direction) @ basis[: step + 1]
        if np.linalg.norm(direction) <= 1e-12 * abs(inside[0, 0]):
            inside = inside[: step + 1, : step + 1]
            break
    return float(np.abs(np.linalg.eigvalsh(inside)).max())
