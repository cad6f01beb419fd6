"""Searches of several segments, flat and as a graph, against brute force over the stored vectors."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from asterism import SearchHits
from asterism.errors import SettingError, VectorsError
from asterism.views.dense import searcher as dense_searcher
from tests.unit.views.dense.rows import SIZES, D, Opened, assert_exact, frozen, normal


def same(first: SearchHits, second: SearchHits) -> bool:
    return np.array_equal(first.ids, second.ids) and np.array_equal(first.scores, second.scores)


@pytest.mark.parametrize("k", [1, 7, 60, 500])
@pytest.mark.parametrize("share", [None, 1.0, 0.9, 0.5, 0.1, 0.02, 0.0])
def test_equals_brute_force(opened: Opened, k: int, share: float | None) -> None:
    vectors, queries = normal(sum(SIZES)), normal(4, 1)
    mask = None if share is None else np.random.default_rng(2).random(len(vectors)) < share
    assert_exact(opened(vectors).search(queries, k, mask), vectors, queries, k, mask)


def test_stored_vectors_in_any_order(opened: Opened) -> None:
    vectors = normal(sum(SIZES))
    places = np.random.default_rng(3).permutation(len(vectors))[:50]
    searcher = opened(vectors)
    stored = searcher.read_vectors(np.append(places, places[0]))
    assert np.array_equal(stored[:-1], vectors[places].astype(np.float16))
    assert np.array_equal(stored[-1], stored[0])
    assert searcher.read_vectors(np.empty(0, np.int64)).shape == (0, D)


def test_a_segment_without_eligible_documents(opened: Opened) -> None:
    vectors, queries = normal(sum(SIZES)), normal(2, 1)
    searcher = opened(vectors)
    for a, b in ((0, 90), (90, 91), (91, 131), (0, 91)):
        mask = np.ones(len(vectors), bool)
        mask[a:b] = False
        assert_exact(searcher.search(queries, 200, mask), vectors, queries, 200, mask)


@pytest.mark.parametrize("lengths", ["equal", "short and long", "tiny", "largest"])
def test_vectors_of_any_length(opened: Opened, lengths: str) -> None:
    vectors = normal(sum(SIZES))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    if lengths == "short and long":
        vectors *= np.geomspace(0.01, 100, len(vectors), dtype=np.float32)[:, None]
    if lengths == "tiny":
        vectors *= np.float32(1e-6)  # subnormal in float16
    if lengths == "largest":
        vectors = np.sign(vectors) * np.float32(65504)
    queries = normal(3, 1)
    assert_exact(opened(vectors).search(queries, 200), vectors, queries, 200)


def test_ties(opened: Opened) -> None:
    vectors = np.repeat(normal(3), [50, 50, 31], axis=0)
    searcher = opened(vectors)
    for query in (normal(1, 1), vectors[:1], np.zeros((1, D), np.float32)):
        hits = searcher.search(query, 200)
        assert_exact(hits, vectors, query, 200)
        assert_exact(searcher.search(query, 10), vectors, query, 10)


@pytest.mark.parametrize("masked", [False, True])
def test_zero_vectors_are_found_by_nobody(opened: Opened, masked: bool) -> None:
    """They are those of empty documents."""
    vectors = normal(sum(SIZES))
    vectors[20:60] = 0
    searcher = opened(vectors)
    mask = frozen(np.random.default_rng(3).random(len(vectors)) < 0.5) if masked else None
    there = np.setdiff1d(np.arange(len(vectors)), np.arange(20, 60))
    there = there if mask is None else there[mask[there]]
    for query in (normal(1, 1), -vectors[:1], np.zeros((1, D), np.float32)):
        truth = query @ vectors[there].astype(np.float16).astype(np.float32).T
        found = searcher.search(query, 500, mask)
        assert np.array_equal(np.sort(found.ids[0]), there)
        few = searcher.search(query, 10, mask)
        assert np.allclose(few.scores[0], -np.sort(-truth[0])[:10], atol=1e-3)
        assert np.isin(few.ids[0], there).all()


def test_scores_are_those_of_the_search_to_the_bit(opened: Opened) -> None:
    searcher, query = opened(normal(sum(SIZES))), normal(1, 1)
    hits = searcher.search(query, 20)
    for ids, scores in zip(hits.ids[0], hits.scores[0], strict=True):
        assert searcher.scores(query[0], np.array([ids])) == scores
    rising = np.sort(hits.ids[0])
    assert np.array_equal(searcher.scores(query[0], rising), hits.scores[0][np.argsort(hits.ids[0])])
    assert searcher.scores(query[0], np.empty(0, np.int64)).shape == (0,)


def test_one_query_and_many_give_the_same(opened: Opened) -> None:
    searcher, queries = opened(normal(sum(SIZES))), normal(30, 1)
    mask = frozen(np.random.default_rng(2).random(sum(SIZES)) < 0.6)
    for eligible in (None, mask):
        many = searcher.search(queries, 10, eligible)
        assert same(many, searcher.search(queries, 10, eligible, threads=4))
        assert same(many, searcher.search(queries.copy("F"), 10, eligible))
        for i in range(len(queries)):
            one = searcher.search(queries[i : i + 1], 10, eligible)
            assert np.array_equal(one.ids[0], many.ids[i])
            assert np.array_equal(one.scores[0], many.scores[i])
    assert searcher.search(queries[:0], 10).ids.shape[0] == 0


def test_a_writable_mask_is_read_anew_and_a_frozen_one_is_prepared_once(opened: Opened) -> None:
    vectors, query = normal(sum(SIZES)), normal(1, 1)
    searcher = opened(vectors)
    mask = np.ones(len(vectors), bool)
    for _ in range(3):
        best = searcher.search(query, 5, mask).ids[0]
        assert_exact(searcher.search(query, 5, mask), vectors, query, 5, mask)
        mask[best] = False
    masks = [frozen(np.random.default_rng(i).random(len(vectors)) < 0.4) for i in range(3 * dense_searcher.KEPT)]
    for _ in range(2):
        for one in masks:
            assert_exact(searcher.search(query, 5, one), vectors, query, 5, one)
            assert searcher._get_prepared_rows(one) is searcher._get_prepared_rows(one)
    assert len(searcher._ready) == dense_searcher.KEPT


def test_searches_of_several_threads_at_once(opened: Opened) -> None:
    """Also the first search, which makes the faiss index."""
    vectors, queries = normal(sum(SIZES)), normal(8, 1)
    masks = [None, *(frozen(np.random.default_rng(i).random(len(vectors)) < 0.5) for i in range(12))]
    searcher = opened(vectors)
    start = threading.Barrier(6)
    wrong: list[object] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        start.wait()
        try:
            for _ in range(15):
                mask, k = masks[rng.integers(len(masks))], int(rng.integers(1, 30))
                assert_exact(searcher.search(queries, k, mask, 1 + seed % 2), vectors, queries, k, mask)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_what_cannot_be_searched_is_refused(opened: Opened) -> None:
    searcher = opened(normal(sum(SIZES)))
    good = normal(1, 1)
    for value in (np.nan, np.inf, -np.inf, 1e20):
        bad = good.copy()
        bad[0, 3] = value
        with pytest.raises(VectorsError, match="row 0 has NaN"):
            searcher.search(bad, 5)
    with pytest.raises(VectorsError, match="has 15 dimensions, the index has 16"):
        searcher.search(good[:, :15], 5)
    with pytest.raises(VectorsError, match="expected \\(vectors, dimensions\\)"):
        searcher.search(good[0], 5)
    with pytest.raises(VectorsError, match="type int8, expected floats"):
        searcher.search(good.astype(np.int8), 5)
    assert np.array_equal(searcher.search(good.astype(np.float64), 5).ids, searcher.search(good.tolist(), 5).ids)
    for k in (0, -1, 2.5, True):
        with pytest.raises(SettingError, match="k"):
            searcher.search(good, k)
    for threads in (0, 10**6):
        with pytest.raises(SettingError, match="threads"):
            searcher.search(good, 5, threads=threads)
