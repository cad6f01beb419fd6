"""Item vectors fitted to a sparse set of scored pairs: the matrix factorisation of AXN's paper.

Minimises |(G - U Vᵀ) on the pairs|², where V begins with the dense vectors of the items and U with those of the
queries. The paper descends by gradients; here both sides are solved in turn, exactly, by ridge regressions around where
they began. An item without pairs keeps its vector.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .regression import find_slope, fit_query

Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]

SWEEPS = 6
RIDGES = (1e-3, 1e-2, 1e-1, 1.0)
HELD = 0.1  # of the queries, to choose a ridge
MOST_HELD = 200
QUERY_RIDGE = 1e-2  # of a new query: the default of CrossSearch
BLOCK_VALUES = 1 << 22  # numbers of one batch of equations


@dataclass(frozen=True)
class Pairs:
    """Scored pairs: places of items (p,) and of queries (p,), and their scores (p,)."""

    items: Places
    queries: Places
    scores: Floats

    def select(self, chosen: npt.NDArray[np.bool_]) -> Pairs:
        """Some of the pairs (p,)."""
        return Pairs(self.items[chosen], self.queries[chosen], self.scores[chosen])


@dataclass(frozen=True)
class Fit:
    """Vectors of all items (n, d + 1), and how strongly they were held at their beginnings; inf: not changed at all.

    error_before, error_after: of held-out queries, as a share of the variance of their scores
    """

    vectors: Floats
    ridge: float
    error_before: float
    error_after: float


def append_ones(vectors: npt.ArrayLike) -> Floats:
    """(n, d) -> (n, d + 1) with a last dimension of 1: scores may have any mean."""
    rows = np.asarray(vectors, np.float32)
    return np.concatenate([rows, np.ones((len(rows), 1), np.float32)], axis=1)


def fit_vectors(items: npt.ArrayLike, queries: npt.ArrayLike, pairs: Pairs, seed: int) -> Fit:
    """Dense vectors of items (n, d) and queries (m, d), and scored pairs -> vectors (n, d + 1) that explain the scores.

    The ridge is the one that predicts best: for queries that are held out, half of their scores from the other half.
    """
    rows, begin = append_ones(items), begin_queries(items, queries, pairs)
    rng = np.random.default_rng(seed)
    names = np.unique(pairs.queries)
    held = rng.permutation(names)[: min(MOST_HELD, int(HELD * len(names)))]
    is_held, is_known = np.isin(pairs.queries, held), rng.random(len(pairs.scores)) < 0.5
    known, wanted = pairs.select(is_held & is_known), pairs.select(is_held & ~is_known)
    best = Fit(rows, np.inf, 1.0, 1.0)
    if len(held) and len(known.scores) and len(wanted.scores):
        before = predict_held(rows, known, wanted)
        best = Fit(rows, np.inf, before, before)
        rest = pairs.select(~is_held)
        for ridge in RIDGES:
            error = predict_held(alternate(rows, begin, rest, ridge), known, wanted)
            best = best if error >= best.error_after else Fit(rows, ridge, before, error)
    if best.ridge == np.inf:
        return best
    return Fit(alternate(rows, begin, pairs, best.ridge), best.ridge, best.error_before, best.error_after)


def begin_queries(items: npt.ArrayLike, queries: npt.ArrayLike, pairs: Pairs) -> Floats:
    """The queries' own vectors (m, d + 1) on the scale of the scores: a line through all pairs."""
    rows, own = np.asarray(items, np.float32), np.asarray(queries, np.float32)
    similar = np.einsum("ij,ij->i", rows[pairs.items], own[pairs.queries]) if len(pairs.scores) else np.zeros(0)
    slope = find_slope(similar, pairs.scores)
    offset = float(np.mean(pairs.scores - slope * similar)) if len(pairs.scores) else 0.0
    return np.concatenate([np.float32(slope) * own, np.full((len(own), 1), offset, np.float32)], axis=1)


def alternate(items: Floats, queries: Floats, pairs: Pairs, ridge: float) -> Floats:
    """Beginnings of items (n, d) and queries (m, d) -> fitted items (n, d)."""
    by_item, by_query = Grouped.sort(pairs.items), Grouped.sort(pairs.queries)
    fitted = items
    for _ in range(SWEEPS):
        asked = by_query.solve(queries, fitted, pairs.items, pairs.scores, ridge)
        fitted = by_item.solve(items, asked, pairs.queries, pairs.scores, ridge)
    return fitted


@dataclass(frozen=True)
class Grouped:
    """Pairs by one of their sides: who has pairs, and which; those with nearly the same number stand together."""

    groups: tuple[tuple[Places, Places], ...]  # places (b,) and their pairs (b, c), -1 behind the last

    @classmethod
    def sort(cls, places: Places) -> Grouped:
        """The place of each pair (p,) on this side."""
        order = np.argsort(places, kind="stable")
        names, starts, counts = np.unique(places[order], return_index=True, return_counts=True)
        widths = 1 << np.ceil(np.log2(counts)).astype(np.int64)
        groups = []
        for width in np.unique(widths):
            chosen = np.flatnonzero(widths == width)
            at = starts[chosen, None] + np.arange(width)
            inside = np.arange(width) < counts[chosen, None]
            groups.append((names[chosen], np.where(inside, order[np.where(inside, at, 0)], -1)))
        return cls(tuple(groups))

    def solve(self, begin: Floats, others: Floats, partners: Places, scores: Floats, ridge: float) -> Floats:
        """Beginnings (n, d) of this side and vectors (m, d) of the other -> (n, d), the least squares around `begin`.

        Each row x minimises |g - W x|² + λ |x - begin|², W its partners' vectors; λ = ridge · the mean of their |w|².
        """
        size = float(np.mean(np.einsum("ij,ij->i", others, others, dtype=np.float64))) if len(others) else 0.0
        solved = np.array(begin, np.float32)
        for names, pairs in self._split(begin.shape[1]):
            rows = np.where((pairs >= 0)[:, :, None], others[partners[pairs]], np.float32(0))
            left = scores[pairs] - np.einsum("bcd,bd->bc", rows, begin[names])
            left[pairs < 0] = 0.0
            solved[names] += solve_batch(rows, left, max(ridge * size, 1e-12))
        return solved

    def _split(self, dimensions: int) -> Iterator[tuple[Places, Places]]:
        for names, pairs in self.groups:
            width = pairs.shape[1]
            most = max(1, BLOCK_VALUES // (width * max(width, dimensions)))
            for start in range(0, len(names), most):
                yield names[start : start + most], pairs[start : start + most]


def solve_batch(rows: Floats, scores: npt.NDArray[np.floating], ridge: float) -> Floats:
    """(b, c, d) and (b, c) -> (b, d): (WᵀW + λI)⁻¹Wᵀg of each, by the smaller of WWᵀ and WᵀW."""
    wanted, turned = np.asarray(scores, np.float64)[:, :, None], rows.transpose(0, 2, 1)
    if rows.shape[1] <= rows.shape[2]:
        inner = rows @ turned + ridge * np.eye(rows.shape[1])  # float64 from here on
        return np.asarray((turned @ np.linalg.solve(inner, wanted).astype(np.float32))[:, :, 0])
    inner = turned @ rows + ridge * np.eye(rows.shape[2])
    return np.asarray(np.linalg.solve(inner, turned @ wanted)[:, :, 0], np.float32)


def predict_held(vectors: Floats, known: Pairs, wanted: Pairs) -> float:
    """Item vectors (n, d), known and wanted pairs of held-out queries -> squared error, a share of the variance."""
    error = total = 0.0
    for query in np.unique(wanted.queries):
        given, asked = known.select(known.queries == query), wanted.select(wanted.queries == query)
        if len(given.scores):
            fitted = fit_query(vectors[given.items], given.scores, QUERY_RIDGE)
            error += float(np.square(vectors[asked.items] @ fitted - asked.scores).sum())
            total += float(np.square(asked.scores - given.scores.mean()).sum())
    return error / total if total else 1.0
