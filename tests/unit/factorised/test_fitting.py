"""Vectors fitted to scored pairs: against loops over rows, and against a matrix whose rank is known."""

from __future__ import annotations

import numpy as np
import pytest

from asterism.factorised import fitting
from asterism.factorised.fitting import Grouped, Pairs, alternate, append_ones, begin_queries, fit_vectors
from asterism.factorised.regression import fit_query


def draw_pairs(items: int, queries: int, each: int, matrix: np.ndarray, seed: int = 1) -> Pairs:
    """Some items of each query (queries, items)."""
    rng = np.random.default_rng(seed)
    chosen = np.concatenate([rng.permutation(items)[:each] for _ in range(queries)])
    asked = np.repeat(np.arange(queries), each)
    return Pairs(chosen, asked, matrix[asked, chosen].astype(np.float32))


@pytest.mark.parametrize("each", [1, 3, 40])  # fewer and more pairs than dimensions
def test_each_row_is_a_ridge_regression_around_its_beginning(each: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "BLOCK_VALUES", 500)  # several batches
    rng = np.random.default_rng(2)
    begin, others = rng.normal(size=(60, 7)).astype(np.float32), rng.normal(size=(50, 7)).astype(np.float32)
    pairs = draw_pairs(60, 50, each, rng.normal(size=(50, 60)))
    ridge = 0.3 * float((others**2).sum(axis=1).mean())
    expected = begin.astype(np.float64)
    for item in np.unique(pairs.items):
        mine = pairs.select(pairs.items == item)
        rows = others[mine.queries].astype(np.float64)
        left = np.linalg.solve(rows.T @ rows + ridge * np.eye(7), rows.T @ (mine.scores - rows @ expected[item]))
        expected[item] += left
    solved = Grouped.sort(pairs.items).solve(begin, others, pairs.queries, pairs.scores, 0.3)
    np.testing.assert_allclose(solved, expected, atol=2e-5)


def test_an_exact_rank_is_completed() -> None:
    """A fifth of a matrix of rank 5; its other pairs follow, though the vectors began far from them."""
    rng = np.random.default_rng(3)
    items, queries, rank = 400, 120, 5
    latent, asked = rng.normal(size=(items, rank)), rng.normal(size=(queries, rank))
    matrix = 3 * asked @ latent.T + 2
    turned = rng.normal(size=(rank, 12))
    own = latent @ turned + rng.normal(size=(items, 12))  # as much noise as there is to know
    pairs = draw_pairs(items, queries, items // 5, matrix)
    fit = fit_vectors(own, asked @ turned, pairs, 1)
    assert fit.ridge < np.inf
    assert fit.error_after < 0.1 * fit.error_before
    new = 3 * rng.normal(size=rank) @ latent.T + 2  # a query that no pair had
    known = rng.permutation(items)[:40]
    errors = []
    for vectors in (append_ones(own), fit.vectors):
        predicted = vectors @ fit_query(vectors[known], new[known], 1e-2)
        errors.append(float(np.square(predicted - new).mean() / new.var()))
    assert errors[1] < 0.02
    assert errors[1] < 0.1 * errors[0]


def test_nothing_changes_without_pairs_or_use() -> None:
    rng = np.random.default_rng(4)
    own, asked = rng.normal(size=(50, 6)), rng.normal(size=(30, 6))
    none = Pairs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))
    np.testing.assert_array_equal(fit_vectors(own, asked, none, 1).vectors, append_ones(own))
    noise = draw_pairs(50, 30, 20, rng.normal(size=(30, 50)))
    noise_fit = fit_vectors(own, asked, noise, 1)
    assert noise_fit.error_after <= noise_fit.error_before
    some = draw_pairs(25, 30, 20, asked @ own.T)
    fitted = alternate(append_ones(own), begin_queries(own, asked, some), some, 0.1)
    np.testing.assert_array_equal(fitted[25:], append_ones(own)[25:])  # no pairs, no change


def test_the_seed_decides() -> None:
    rng = np.random.default_rng(5)
    own, asked = rng.normal(size=(50, 6)), rng.normal(size=(30, 6))
    pairs = draw_pairs(50, 30, 20, asked @ own.T + rng.normal(size=(30, 50)))
    first, second = (fit_vectors(own, asked, pairs, 7) for _ in range(2))
    np.testing.assert_array_equal(first.vectors, second.vectors)
