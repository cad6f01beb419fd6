"""Maximal marginal relevance against its formula."""

from __future__ import annotations

import numpy as np
import pytest

from asterism.errors import SettingError
from asterism.search.diversity import pick_diverse


def pick_by_formula(query: np.ndarray, rows: np.ndarray, k: int, balance: float) -> list[int]:
    def cos(a: np.ndarray, b: np.ndarray) -> float:
        return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))

    chosen: list[int] = []
    while len(chosen) < min(k, len(rows)):
        worth = {}
        for i, row in enumerate(rows):
            if i not in chosen:
                repeated = max((cos(row, rows[j]) for j in chosen), default=None)
                relevance = cos(query, row)
                worth[i] = relevance if repeated is None else balance * relevance - (1 - balance) * repeated
        chosen.append(max(worth, key=lambda i: worth[i]))
    return chosen


@pytest.mark.parametrize("balance", [0, 0.25, 0.5, 0.9, 1])
@pytest.mark.parametrize(("m", "k"), [(1, 1), (5, 3), (12, 12), (4, 9)])
def test_choice(balance: float, m: int, k: int) -> None:
    rng = np.random.default_rng(m)
    query, rows = rng.standard_normal(8).astype(np.float32), rng.standard_normal((m, 8)).astype(np.float32)
    places, scores = pick_diverse(query, rows, k, balance)
    assert places.tolist() == pick_by_formula(query, rows, k, balance)
    assert scores.shape == places.shape == (min(m, k),)


def test_a_copy_comes_last() -> None:
    query = np.array([1, 1, 0], np.float32)
    rows = np.array([[1, 0.9, 0], [1, 0.9, 0], [0, 1, 0.1]], np.float32)
    assert pick_diverse(query, rows, 3, 0.5)[0].tolist() == [0, 2, 1]
    assert pick_diverse(query, rows, 3, 1)[0].tolist() == [0, 1, 2]  # of equal ones the first


def test_nothing_and_zeros() -> None:
    query = np.ones(2, np.float32)
    places, scores = pick_diverse(query, np.empty((0, 2), np.float32), 3, 0.5)
    assert (len(places), len(scores)) == (0, 0)
    places, scores = pick_diverse(query, np.zeros((2, 2), np.float32), 3, 0.5)
    assert places.tolist() == [0, 1]
    assert not scores.any()


@pytest.mark.parametrize("balance", [-0.1, 1.1, float("nan"), "half"])
def test_a_balance_out_of_range(balance: object) -> None:
    with pytest.raises(SettingError, match=r"balance is .*, expected a number from 0 to 1"):
        pick_diverse(np.ones(2, np.float32), np.ones((1, 2), np.float32), 1, balance)  # type: ignore[arg-type]
