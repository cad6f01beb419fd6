"""Short vectors find the places that whole vectors find, or give up."""

from __future__ import annotations

import numpy as np
import pytest

from asterism.factorised import sketch
from asterism.factorised.rounds import ItemVectors, choose_highest
from asterism.factorised.sketch import WIDTH, Sketch, find_threshold

ITEMS, DIMENSIONS = 3000, 200


def draw(decay: float) -> np.ndarray:
    """Vectors whose directions become less important, as those of scores do; 0: all are equally important."""
    rng = np.random.default_rng(1)
    turned = np.linalg.qr(rng.normal(size=(DIMENSIONS, DIMENSIONS)))[0]
    sizes = np.arange(1, DIMENSIONS + 1) ** -decay
    return ((rng.normal(size=(ITEMS, DIMENSIONS)) * sizes) @ turned + 0.3 * turned[0]).astype(np.float32)


@pytest.mark.parametrize("decay", [0.0, 1.0, 2.0])
def test_the_same_places(decay: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sketch, "LEAST_VALUES", 1)
    rows, rng = draw(decay), np.random.default_rng(2)
    vectors = ItemVectors.prepare(rows, rng.random(ITEMS) < 0.9)
    assert vectors.sketch is not None
    narrowed = []
    for _ in range(20):
        query = rows[rng.permutation(ITEMS)[:30]].T @ rng.normal(size=30).astype(np.float32)  # as a fitted one
        allowed = rng.random(ITEMS) < 0.8
        for count in (1, 40):
            expected = choose_highest(rows @ query, allowed & vectors.known, count)
            assert vectors.find_highest(query, allowed, count).tolist() == expected.tolist()
            found = vectors.sketch.narrow(query, allowed & vectors.known, count)
            narrowed.append(ITEMS if found is None else len(found))
    assert (np.mean(narrowed) < ITEMS / 10) == (decay >= 1)


def test_few_or_short_vectors_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Sketch.make(draw(1.0)) is None
    monkeypatch.setattr(sketch, "LEAST_VALUES", 1)
    assert Sketch.make(np.ones((5000, 2 * WIDTH), np.float32)) is None


def test_more_than_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sketch, "LEAST_VALUES", 1)
    rows = draw(2.0)
    vectors = ItemVectors.prepare(rows, np.ones(ITEMS, bool))
    allowed = np.arange(ITEMS) < 5
    for count in (0, 3, 5, 50, ITEMS, 2 * ITEMS):
        expected = choose_highest(rows @ rows[0], allowed, count)
        assert vectors.find_highest(rows[0], allowed, count).tolist() == expected.tolist()


@pytest.mark.parametrize("size", [1, 63, 64, 1000, 5001])
@pytest.mark.parametrize("count", [1, 5, 40, 1000])
def test_a_threshold_lets_enough_through(size: int, count: int) -> None:
    values = np.random.default_rng(size).normal(size=size).astype(np.float32)
    passed = int((values >= find_threshold(values, count)).sum())
    assert min(count, size) <= passed <= max(2 * count, count + 64)
