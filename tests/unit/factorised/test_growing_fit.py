"""The regression that grows equals the one that is solved anew, whatever the rank and the ridge."""

from __future__ import annotations

import numpy as np
import pytest

from asterism.factorised.growing_fit import GrowingFit, find_largest_eigenvalue
from asterism.factorised.regression import fit_query
from tests.unit.factorised.matrices import draw_matrix


@pytest.mark.parametrize("ridge", [0.0, 1e-6, 1e-2])
@pytest.mark.parametrize(("rank", "dimensions"), [(6, 300), (100, 100), (300, 300), (90, 90)])
def test_as_solved_anew(ridge: float, rank: int, dimensions: int) -> None:
    """Fewer items than dimensions, more, and a rank below both."""
    rows = draw_matrix(200, dimensions, rank, 1).astype(np.float32)
    scores = rows @ np.random.default_rng(2).normal(size=dimensions) + np.random.default_rng(3).normal(size=200)
    fit = GrowingFit(dimensions, ridge)
    for end in (40, 80, 120, 200):
        fit.add(rows[end - 40 - 40 * (end == 200) : end], scores[end - 40 - 40 * (end == 200) : end])
        expected = fit_query(rows[:end], scores[:end], ridge)
        np.testing.assert_allclose(fit.solve(), expected, atol=1e-3 * np.abs(expected).max())


def test_nothing_known() -> None:
    assert GrowingFit(5, 0.0).solve().tolist() == [0.0] * 5
    fit = GrowingFit(5, 0.1)
    fit.add(np.zeros((0, 5)), [])
    fit.add(np.zeros((2, 5)), [1.0, 2.0])
    assert fit.solve().tolist() == [0.0] * 5


@pytest.mark.parametrize("size", [3, 65, 200])
def test_the_largest_eigenvalue(size: int) -> None:
    rows = np.random.default_rng(size).normal(size=(size, size))
    for matrix in (rows @ rows.T, rows + rows.T, np.eye(size), np.zeros((size, size)), np.ones((size, size))):
        expected = np.abs(np.linalg.eigvalsh(matrix)).max()
        assert find_largest_eigenvalue(matrix) == pytest.approx(expected, rel=0.05, abs=1e-12)
