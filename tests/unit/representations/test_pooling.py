"""Similar vectors become their mean: how many, and how near to the originals."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest

from asterism import TokenVectors
from asterism.representations.pooling import pool_vectors
from tests.conftest import make_query, make_vectors


def lengths(vectors: TokenVectors) -> np.ndarray:
    return np.diff(vectors.offsets)


@pytest.mark.parametrize("most", [1, 2, 5, 11])
def test_no_more_than_the_most(most: int) -> None:
    given = make_vectors(40, longest=12)
    found = pool_vectors(given, most)
    assert lengths(found).tolist() == np.minimum(lengths(given), most).tolist()
    assert found.dimensions == given.dimensions


def test_short_documents_stay_to_the_bit() -> None:
    given = make_vectors(40, longest=12)
    found = pool_vectors(given, 6)
    for i in range(40):
        if lengths(given)[i] <= 6:
            assert np.array_equal(found[i], given[i])


@pytest.mark.parametrize("most", [0, 12, 1000])
def test_nothing_to_do(most: int) -> None:
    given = make_vectors(40, longest=12)
    assert pool_vectors(given, most) is given


def test_means_have_unit_length() -> None:
    found = pool_vectors(make_vectors(40, longest=30, shortest=8), 7)
    np.testing.assert_allclose(np.linalg.norm(found.flat, axis=1), 1, atol=1e-6)


def test_the_same_input_gives_the_same_output() -> None:
    first, second = (pool_vectors(make_vectors(30, longest=40, seed=4), 9) for _ in range(2))
    assert np.array_equal(first.flat, second.flat)
    assert np.array_equal(first.offsets, second.offsets)


def test_a_document_does_not_depend_on_its_neighbours() -> None:
    given = make_vectors(20, longest=30, shortest=10)
    together = pool_vectors(given, 5)
    for i in range(20):
        assert np.array_equal(together[i], pool_vectors(TokenVectors.from_documents([given[i]]), 5)[0])


def test_half_precision() -> None:
    given = make_vectors(10, longest=20, shortest=10)
    found = pool_vectors(TokenVectors(given.flat.astype(np.float16), given.offsets), 4)
    assert lengths(found).tolist() == [4] * 10
    np.testing.assert_allclose(np.linalg.norm(found.flat.astype(np.float32), axis=1), 1, atol=1e-3)


def test_as_many_groups_as_vectors_are_found() -> None:
    """Tokens that repeat a few directions become those directions."""
    directions = np.eye(8, dtype=np.float32)[:5]
    document = np.repeat(directions, 20, axis=0)
    found = pool_vectors(TokenVectors.from_documents([document]), 5)
    np.testing.assert_allclose(np.sort(found.flat @ directions.T, axis=1)[:, -1], 1, atol=1e-6)
    assert set((found.flat @ directions.T).argmax(axis=1)) == set(range(5))


@pytest.mark.parametrize("row", [np.zeros(4), np.ones(4) / 2], ids=["zero", "the same"])
def test_tokens_that_cannot_be_told_apart(row: np.ndarray) -> None:
    found = pool_vectors(TokenVectors(np.tile(row, (50, 1)).astype(np.float32), [0, 50]), 6)
    assert np.array_equal(found.flat, np.tile(row, (6, 1)).astype(np.float32))


def test_opposite_tokens_cancel_without_nan() -> None:
    """The sum of a group may be zero, which has no direction."""
    document = np.array([[1, 0], [-1, 0]] * 4, np.float32)
    found = pool_vectors(TokenVectors.from_documents([document]), 1)
    assert np.isfinite(found.flat).all()


def test_scores_stay_near() -> None:
    """Half the vectors of a topical document answer a query nearly as well."""
    given = make_vectors(30, longest=40, shortest=40)
    query = make_query()
    before, after = (
        np.array([(v[i] @ query.T).max(axis=0).sum() for i in range(30)]) for v in (given, pool_vectors(given, 20))
    )
    assert np.corrcoef(before, after)[0, 1] > 0.5
    assert (after <= before + 0.5).all()


def test_a_very_long_document_takes_little_memory_and_time() -> None:
    """Similarities of all tokens with all centres would be 50 MB."""
    rows = np.random.default_rng(0).normal(size=(100_000, 16)).astype(np.float32)
    given = TokenVectors(rows / np.linalg.norm(rows, axis=1, keepdims=True), [0, len(rows)])
    tracemalloc.start()
    begin = time.process_time()
    found = pool_vectors(given, 128)
    seconds, (_, peak) = time.process_time() - begin, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found.flat) == 128
    assert peak < 20e6
    assert seconds < 20
