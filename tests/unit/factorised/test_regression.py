"""The regression against NumPy's pseudo-inverse and against normal equations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asterism.factorised.regression import choose_ridge, find_slope, fit_query, solve
from tests.unit.factorised.matrices import draw_matrix


@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (5, 5), (1, 3), (6, 1)])
def test_without_ridge_it_is_the_pseudo_inverse(shape: tuple[int, int]) -> None:
    vectors = np.random.default_rng(1).normal(size=shape)
    np.testing.assert_allclose(solve(vectors, 0.0), np.linalg.pinv(vectors), atol=1e-10)


def test_of_any_rank() -> None:
    vectors = draw_matrix(9, 6, 3)
    np.testing.assert_allclose(solve(vectors, 0.0), np.linalg.pinv(vectors, rcond=1e-6), atol=1e-8)
    assert solve(np.zeros((3, 2)), 0.1).tolist() == np.zeros((2, 3)).tolist()
    assert solve(np.zeros((0, 2)), 0.1).shape == (2, 0)


@pytest.mark.parametrize("ridge", [1e-3, 0.5])
def test_a_ridge_is_relative_to_the_largest_eigenvalue(ridge: float) -> None:
    vectors = np.random.default_rng(2).normal(size=(8, 5))
    size = ridge * np.linalg.eigvalsh(vectors.T @ vectors).max()
    expected = np.linalg.inv(vectors.T @ vectors + size * np.eye(5)) @ vectors.T
    np.testing.assert_allclose(solve(vectors, ridge), expected, atol=1e-12)
    np.testing.assert_allclose(solve(1000 * vectors, ridge), expected / 1000, atol=1e-12)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 8), st.integers(0, 6), st.integers(0, 6), st.integers(0, 2**31))
def test_an_exact_rank_is_reproduced(rank: int, more_queries: int, more_anchors: int, seed: int) -> None:
    """The CUR identity: as many anchor queries and anchor items as the rank give all scores of any query."""
    matrix = draw_matrix(rank + more_queries + 3, 40, rank, seed)
    anchors, rows = slice(0, rank + more_anchors), matrix[: rank + more_queries]
    core = matrix[: rank + more_queries, anchors]
    if np.linalg.matrix_rank(core) < rank or np.linalg.cond(core[:rank, :rank]) > 1e4:
        return
    for query in matrix[rank + more_queries :]:
        fitted = fit_query(rows.T[anchors], query[anchors], 0.0)
        np.testing.assert_allclose(rows.T.astype(np.float32) @ fitted, query, atol=1e-3 * np.abs(query).max() + 1e-4)


def test_the_ridge_follows_the_noise() -> None:
    rng = np.random.default_rng(3)
    exact = draw_matrix(60, 300, 8).T
    noisy = exact + 0.5 * rng.normal(size=exact.shape)
    anchors = list(range(50))
    assert choose_ridge(exact, anchors, 1) == 0.0
    assert choose_ridge(noisy, anchors, 1) >= 1e-3
    assert choose_ridge(exact[:, :3], anchors, 1) == 0.0  # too few queries to tell


def test_the_slope_is_that_of_a_line_of_least_squares() -> None:
    values, scores = np.random.default_rng(4).normal(size=(2, 20))
    assert find_slope(values, scores) == pytest.approx(np.polyfit(values, scores, 1)[0])
    assert find_slope([2.0, 2.0], [1.0, 5.0]) == find_slope([], []) == 0.0
