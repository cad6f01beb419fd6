"""Anchor items: they differ, they depend on the seed alone, and pivots span what there is."""

from __future__ import annotations

import numpy as np
import pytest

from asterism.factorised.anchors import CHOICES, choose_anchors
from tests.unit.factorised.matrices import draw_matrix


@pytest.mark.parametrize("choice", CHOICES)
def test_different_items_by_the_seed(choice: str) -> None:
    vectors = draw_matrix(12, 80, 12).T
    found = choose_anchors(vectors, 10, choice, 4)
    assert len(set(found)) == len(found) <= 10
    assert found == choose_anchors(vectors, 10, choice, 4)
    assert all(0 <= number < 80 for number in found)


@pytest.mark.parametrize("choice", CHOICES)
def test_more_than_there_are(choice: str) -> None:
    assert sorted(choose_anchors(np.eye(5), 50, choice, 1)) == [0, 1, 2, 3, 4]


def test_pivots_are_those_of_qr() -> None:
    """By hand: the longest column, then the longest of what is left, and so on."""
    vectors = np.random.default_rng(5).normal(size=(30, 6))
    left, expected = vectors.copy(), []
    for _ in range(6):
        expected.append(int(np.argmax((left**2).sum(axis=1))))
        direction = left[expected[-1]] / np.linalg.norm(left[expected[-1]])
        left = left - np.outer(left @ direction, direction)
    assert choose_anchors(vectors, 6, "pivots", 1) == expected


def test_pivots_end_with_the_rank() -> None:
    vectors = draw_matrix(10, 50, 3).T
    found = choose_anchors(vectors, 20, "pivots", 1)
    assert len(found) == 3
    assert np.linalg.matrix_rank(vectors[found]) == 3
