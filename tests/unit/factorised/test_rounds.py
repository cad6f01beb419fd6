"""Which items are asked about: never twice, never beyond the budget, and the right ones."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from asterism.factorised.rounds import (
    Asked,
    FixedAnchors,
    ItemVectors,
    Places,
    choose_highest,
    search_by_anchors,
    search_by_first_stage,
    search_by_rounds,
)
from tests.unit.factorised.matrices import draw_matrix

ITEMS, RANK, QUERIES = 400, 6, 30


class Query:
    """One query of an exact matrix: what was asked, and a poor first stage."""

    def __init__(self, calls: int, eligible: np.ndarray | None = None) -> None:
        matrix = draw_matrix(QUERIES + 1, ITEMS, RANK, 7)
        self.truth = matrix[-1].astype(np.float32)
        self.vectors = ItemVectors(matrix[:-1].T.astype(np.float32), np.ones(ITEMS, bool))
        self.batches: list[list[int]] = []
        allowed = np.ones(ITEMS, bool) if eligible is None else eligible
        self.asked = Asked(self.ask, allowed, calls)
        self.order = np.random.default_rng(1).permutation(np.flatnonzero(allowed))

    def ask(self, places: Places) -> np.ndarray:
        self.batches.append(places.tolist())
        return self.truth[places]

    def first(self, count: int) -> Places:
        return self.order[:count]

    def recall(self, k: int) -> float:
        best = np.argsort(-np.where(self.asked.eligible, self.truth, -np.inf))[:k]
        return len(set(best.tolist()) & set(self.asked.find_best(k)[0].tolist())) / k

    def check(self, calls: int) -> None:
        every = [place for batch in self.batches for place in batch]
        assert len(set(every)) == len(every) <= calls
        places, scores = self.asked.find_best(10)
        np.testing.assert_array_equal(scores, self.truth[places])
        assert (np.diff(scores) <= 0).all()
        assert self.asked.eligible[places].all()


@pytest.mark.parametrize("calls", [24, 60, 200])
def test_an_exact_rank_is_found(calls: int) -> None:
    """With as many anchors as the rank, all scores are predicted."""
    query = Query(calls)
    anchors = FixedAnchors.prepare(np.arange(8), query.vectors)
    search_by_anchors(query.asked, anchors, 0.0, query.first)
    query.check(calls)
    assert query.recall(10) == 1.0
    query = Query(calls)
    search_by_rounds(query.asked, query.vectors, 0.0, 2, query.first)
    query.check(calls)
    assert query.recall(10) == 1.0


def test_the_projection_changes_nothing() -> None:
    """Fewer numbers for each item, the same predictions, for all anchors and for some."""
    query = Query(50)
    anchors = FixedAnchors.prepare(np.arange(20), query.vectors)
    assert anchors.items.rows.shape[1] <= RANK
    for count in (3, 20):
        known = query.vectors.rows[:count].astype(np.float64)
        expected = query.vectors.rows @ (np.linalg.pinv(known, rcond=1e-6) @ query.truth[:count])
        predicted = anchors.items.rows @ anchors.fit(query.truth[:count], count, 0.0)
        np.testing.assert_allclose(predicted, expected, atol=1e-4)


@pytest.mark.parametrize("calls", [1, 2, 3, 7])
def test_a_budget_below_the_anchors(calls: int) -> None:
    for run in (
        lambda one: search_by_anchors(one.asked, FixedAnchors.prepare(np.arange(30), one.vectors), 0.0, one.first),
        lambda one: search_by_rounds(one.asked, one.vectors, 0.0, 5, one.first),
        lambda one: search_by_first_stage(one.asked, one.first),
    ):
        query = Query(calls)
        run(query)
        query.check(calls)
        assert len(query.asked.places) == calls


def test_only_eligible_items_are_answers() -> None:
    eligible = np.zeros(ITEMS, bool)
    eligible[100:180] = True
    query = Query(40, eligible)
    search_by_anchors(query.asked, FixedAnchors.prepare(np.arange(10), query.vectors), 0.0, query.first)
    query.check(40)
    assert query.recall(5) == 1.0
    query = Query(40, eligible)
    search_by_rounds(query.asked, query.vectors, 0.0, 4, query.first)
    query.check(40)
    assert all(eligible[place] for batch in query.batches for place in batch)


def test_items_without_vectors_come_from_the_first_stage() -> None:
    query = Query(30)
    none = ItemVectors(query.vectors.rows, np.zeros(ITEMS, bool))
    search_by_rounds(query.asked, none, 0.0, 3, query.first)
    assert query.asked.places == query.order[:30].tolist()


def test_re_ranking_asks_about_the_first_stage() -> None:
    query = Query(25)
    search_by_first_stage(query.asked, query.first)
    assert query.batches == [query.order[:25].tolist()]
    query = Query(25)
    search_by_first_stage(query.asked, lambda count: query.order[: min(count, 4)])  # a search that finds little
    assert len(query.asked.places) == 4  # and nothing else


def test_threads_with_other_budgets() -> None:
    """What one has solved may be replaced by another at any time."""
    query = Query(50)
    anchors = FixedAnchors.prepare(np.arange(20), query.vectors)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as team:
            list(team.map(lambda count: anchors.fit(query.truth[:count], count, 0.0), [1, 2, 3, 4] * 500))
    finally:
        sys.setswitchinterval(interval)


def test_an_attempt_that_goes_on() -> None:
    """What an earlier one asked about counts, even where it is gone."""
    for search in (
        lambda one: search_by_anchors(one.asked, FixedAnchors.prepare(np.arange(30), one.vectors), 0.0, one.first),
        lambda one: search_by_rounds(one.asked, one.vectors, 0.0, 5, one.first),
        lambda one: search_by_first_stage(one.asked, one.first),
    ):
        for known in (3, 17, 18):
            query = Query(20)
            query.asked.resume({place: float(query.truth[place]) for place in range(100, 100 + known)}, 2)
            search(query)
            query.check(18 - known)
            assert len(query.asked.places) == 18


def test_times_are_told() -> None:
    query = Query(20)
    search_by_rounds(query.asked, query.vectors, 0.0, 4, query.first)
    assert set(query.asked.seconds) == {"first stage", "scorer", "solve"}


def test_highest() -> None:
    values = np.array([1, 5, 5, -np.inf, 3], np.float32)
    assert choose_highest(values, np.ones(5, bool), 3).tolist() == [1, 2, 4]
    assert choose_highest(values, np.array([1, 0, 1, 1, 1], bool), 9).tolist() == [2, 4, 0]
    assert choose_highest(values, np.zeros(5, bool), 2).tolist() == []
    assert choose_highest(values, np.ones(5, bool), 0).tolist() == []
