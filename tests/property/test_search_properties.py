"""Properties of a token index for any vectors."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asterism import TokenIndex, TokenSearch, TokenVectors
from asterism.kernels import reference
from tests.conftest import brute_force, make_query, make_vectors, share_direction

QUIET = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
EVERYTHING = 10**6
INFINITE = float("inf")
METHODS = ["exact", "colbert", "xtr"]

corpora = st.builds(
    make_vectors,
    documents=st.integers(2, 50),
    d=st.sampled_from([4, 16, 33, 128]),
    longest=st.integers(1, 9),
    seed=st.integers(0, 10**6),
    shortest=st.just(0),
).filter(lambda vectors: len(vectors.flat) > 0)
queries = st.tuples(st.integers(1, 12), st.integers(0, 10**6))


def query_for(vectors: TokenVectors, drawn: tuple[int, int]) -> np.ndarray:
    return make_query(vectors.dimensions, *drawn)


@pytest.mark.parametrize("strength", [0.0, 1.0, 6.0])
@pytest.mark.parametrize("bits", [1, 2, 4])
@QUIET
@given(vectors=corpora, drawn=queries)
def test_scores_are_those_of_the_decoded_vectors(
    bits: int,
    strength: float,
    vectors: TokenVectors,
    drawn: tuple[int, int],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Up to the query's bytes, however much of a direction all vectors and queries share."""
    moved = TokenVectors(share_direction(vectors.flat, strength), vectors.offsets)
    index = TokenIndex.build(tmp_path_factory.mktemp("p") / "x", moved, bits=bits)
    query, codec, part = share_direction(query_for(vectors, drawn), strength), index._codec, index._parts[0]
    decoded = codec.decode(part.codes[:], part.scales[:], part.read_centroids(slice(None)))
    ids, scores = index.search(query, len(vectors), TokenSearch(method="exact"))
    expected = brute_force(TokenVectors(decoded, vectors.offsets), query)
    balanced, _ = reference.balance_queries(query, codec.shared)
    step = np.abs(reference.rotate(balanced, codec.signs)).max(axis=1).sum() / 127
    spread = np.abs(codec.transform(decoded, 1)).sum(axis=1).max()
    np.testing.assert_allclose(scores, expected[ids], atol=step / 2 * spread + 1e-4)


@pytest.mark.parametrize("bits", [16, 32])
@pytest.mark.parametrize("method", METHODS)
@QUIET
@given(vectors=corpora, drawn=queries)
def test_probing_everything_with_floats_is_exact(
    method: str, bits: int, vectors: TokenVectors, drawn: tuple[int, int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    index = TokenIndex.build(tmp_path_factory.mktemp("p") / "x", vectors, bits=bits)
    query = query_for(vectors, drawn)
    wide = TokenSearch(
        method=method,
        probes=EVERYTHING,
        candidates=EVERYTHING,
        refine=EVERYTHING,
        confidence=INFINITE,
        retrieved=EVERYTHING,
    )
    ids, scores = index.search(query, len(vectors), wide)
    expected = brute_force(TokenVectors(vectors.flat.astype(f"float{bits}"), vectors.offsets), query)
    np.testing.assert_allclose(scores, np.sort(expected)[::-1], atol=1e-4)
    np.testing.assert_allclose(expected[ids], scores, atol=1e-4)
    assert sorted(ids) == list(range(len(vectors)))


@pytest.mark.parametrize("bits", [4, 32])
@QUIET
@given(vectors=corpora, drawn=queries, penalty=st.floats(0, 10))
def test_a_length_penalty_ranks_as_by_hand(
    bits: int, vectors: TokenVectors, drawn: tuple[int, int], penalty: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Documents without vectors stay last; a search without a penalty is the search as it was."""
    index = TokenIndex.build(tmp_path_factory.mktemp("p") / "x", vectors, bits=bits)
    query, lengths = query_for(vectors, drawn), np.diff(vectors.offsets)
    plain = index.search(query, len(vectors), TokenSearch(method="exact"))
    before = np.empty(len(vectors), np.float32)
    before[plain.ids] = plain.scores
    truth = brute_force(vectors, query) if bits == 32 else before.astype(np.float64)
    expected = truth - len(query) * penalty * np.log1p(lengths)
    ids, scores = index.search(query, len(vectors), TokenSearch(method="exact", length_penalty=penalty))
    np.testing.assert_allclose(scores, expected[ids], rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(scores, np.sort(expected)[::-1], rtol=1e-5, atol=1e-4)
    np.testing.assert_array_equal(np.sort(ids), np.arange(len(vectors)))
    np.testing.assert_array_equal(index._searcher.scores(query, np.arange(len(vectors))), before)


@pytest.mark.parametrize("method", METHODS)
@QUIET
@given(vectors=corpora, drawn=queries, penalties=st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_a_larger_length_penalty_never_raises_the_longest_document(
    method: str,
    vectors: TokenVectors,
    drawn: tuple[int, int],
    penalties: tuple[float, float],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    index = TokenIndex.build(tmp_path_factory.mktemp("p") / "x", vectors, bits=4)
    lengths = np.diff(vectors.offsets)
    longest, shorter = int(lengths.argmax()), np.flatnonzero(lengths < lengths.max())
    ranks = []
    for penalty in sorted(penalties):
        wide = TokenSearch(method=method, probes=index.centroids, confidence=INFINITE, length_penalty=penalty)
        ids = index.search(query_for(vectors, drawn), len(vectors), wide).ids.tolist()
        ranks.append(sum(ids.index(other) < ids.index(longest) for other in shorter))
    assert ranks[0] <= ranks[1]


@pytest.mark.parametrize("bits", [1, 2, 4, 32])
@pytest.mark.parametrize("method", METHODS)
@QUIET
@given(vectors=corpora, drawn=queries)
def test_top_k_is_a_prefix_of_top_k_plus_one(
    method: str, bits: int, vectors: TokenVectors, drawn: tuple[int, int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """With the same settings, a larger k does not change the first results."""
    index = TokenIndex.build(tmp_path_factory.mktemp("p") / "x", vectors, bits=bits)
    query = query_for(vectors, drawn)
    search = TokenSearch(
        method=method, probes=index.centroids, candidates=EVERYTHING, refine=EVERYTHING, confidence=INFINITE
    )
    longest = index.search(query, len(vectors), search)
    assert len(set(longest.ids)) == len(vectors)
    for k in range(1, len(vectors)):
        hits = index.search(query, k, search)
        np.testing.assert_array_equal(hits.ids, longest.ids[:k])
        np.testing.assert_array_equal(hits.scores, longest.scores[:k])


@pytest.mark.parametrize("method", METHODS)
@QUIET
@given(vectors=corpora, drawn=queries)
def test_a_subset_is_searched_as_if_it_were_all(
    method: str, vectors: TokenVectors, drawn: tuple[int, int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    index = TokenIndex.build(tmp_path_factory.mktemp("p") / "x", vectors, bits=4)
    query = query_for(vectors, drawn)
    eligible = np.random.default_rng(drawn[1]).random(len(vectors)) < 0.4
    wide = TokenSearch(method=method, probes=index.centroids, confidence=INFINITE, retrieved=EVERYTHING)
    every = index.search(query, len(vectors), wide)
    inside = index.search(query, len(vectors), wide, eligible=eligible)
    assert set(inside.ids) == set(np.flatnonzero(eligible))
    kept = eligible[every.ids]
    np.testing.assert_array_equal(inside.ids, every.ids[kept])
    np.testing.assert_array_equal(inside.scores, every.scores[kept])


@pytest.mark.parametrize("method", METHODS)
@QUIET
@given(vectors=corpora, drawn=queries, k=st.integers(1, 60))
def test_k_unique_results_whenever_k_documents_exist(
    method: str, vectors: TokenVectors, drawn: tuple[int, int], k: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    index = TokenIndex.build(tmp_path_factory.mktemp("p") / "x", vectors, bits=2)
    hits = index.search(query_for(vectors, drawn), k, TokenSearch(method=method, probes=1, candidates=1, refine=1))
    assert len(hits.ids) == len(set(hits.ids)) == min(k, len(vectors))
    assert (np.diff(hits.scores[np.isfinite(hits.scores)]) <= 0).all()


@pytest.mark.parametrize("bits", [4, 16])
def test_threads_and_chunks_change_nothing(bits: int, tmp_path: Path) -> None:
    vectors = make_vectors(400, 64, longest=40, seed=3)
    parts = [0, 1, 50, 51, 52, 300, 400]

    def pieces() -> Iterator[TokenVectors]:
        for a, b in itertools.pairwise(parts):
            begin, end = vectors.offsets[a], vectors.offsets[b]
            yield TokenVectors(vectors.flat[begin:end], vectors.offsets[a : b + 1] - begin)

    built = {
        "whole": TokenIndex.build(tmp_path / "whole", vectors, bits=bits, threads=1),
        "threads": TokenIndex.build(tmp_path / "threads", vectors, bits=bits, threads=3),
        "list": TokenIndex.build(tmp_path / "list", list(pieces()), bits=bits, threads=2),
        "iterator": TokenIndex.build(tmp_path / "iterator", pieces(), bits=bits, threads=2),
    }
    whole = built.pop("whole")
    files = [file.relative_to(whole.path) for file in whole.path.rglob("*.npy")]
    assert files
    for index in built.values():
        assert sorted(file.relative_to(index.path) for file in index.path.rglob("*.npy")) == sorted(files)
        for file in files:
            assert (index.path / file).read_bytes() == (whole.path / file).read_bytes(), index.path / file
    many = [make_query(64, 1 + i % 20, i) for i in range(30)]
    index = whole
    for method, penalty in itertools.product(METHODS, (0, 0.1)):
        small = {"probes": 4, "candidates": 60, "refine": 20, "length_penalty": penalty}
        one = index.search_many(many, 10, TokenSearch(method=method, **small))
        for threads in (2, 3):
            several = index.search_many(many, 10, TokenSearch(method=method, **small), threads=threads)
            np.testing.assert_array_equal(several.ids, one.ids)
            np.testing.assert_array_equal(several.scores, one.scores)
            for i, query in enumerate(many):
                alone = index.search(query, 10, TokenSearch(method=method, threads=threads, **small))
                np.testing.assert_array_equal(alone.ids, one.ids[i])
                np.testing.assert_array_equal(alone.scores, one.scores[i])


def test_several_segments_are_searched_as_one(tmp_path: Path) -> None:
    """Added documents are found as if they had been there from the start."""
    vectors = make_vectors(90, 32, longest=10, seed=5)
    cut = int(vectors.offsets[60])
    first = TokenVectors(vectors.flat[:cut], vectors.offsets[:61])
    second = TokenVectors(vectors.flat[cut:], vectors.offsets[60:] - cut)
    one = TokenIndex.build(tmp_path / "one", first, bits=4)
    grown = one.add(second)
    assert (len(one), len(grown), grown.tokens) == (60, 90, len(vectors.flat))
    alone = TokenIndex.build(tmp_path / "alone", first, bits=4).add(iter([second]))
    for seed, method in itertools.product(range(5), METHODS):
        query = make_query(32, 6, seed)
        hits = grown.search(query, 20, TokenSearch(method=method, probes=3, candidates=40, refine=20))
        same = alone.search(query, 20, TokenSearch(method=method, probes=3, candidates=40, refine=20))
        np.testing.assert_array_equal(hits.ids, same.ids)
        np.testing.assert_array_equal(hits.scores, same.scores)
    exact = grown.search(make_query(32, 6, 1), 90, TokenSearch(method="exact"))
    before = one.search(make_query(32, 6, 1), 60, TokenSearch(method="exact"))
    old = exact.ids < 60
    np.testing.assert_array_equal(exact.ids[old], before.ids)
    np.testing.assert_array_equal(exact.scores[old], before.scores)


@QUIET
@given(seed=st.integers(0, 1000))
def test_the_order_of_documents_does_not_matter(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    vectors = make_vectors(30, 16, longest=6, seed=seed)
    order = np.random.default_rng(seed).permutation(30)
    shuffled = TokenVectors.from_documents([vectors[int(i)] for i in order])
    folder = tmp_path_factory.mktemp("p")
    query = make_query(16, 4, seed)
    straight = TokenIndex.build(folder / "a", vectors, bits=32).search(query, 30, TokenSearch(method="exact"))
    mixed = TokenIndex.build(folder / "b", shuffled, bits=32).search(query, 30, TokenSearch(method="exact"))
    np.testing.assert_array_equal(straight.scores, mixed.scores)
    finite = np.isfinite(straight.scores)
    assert set(straight.ids[finite]) == set(order[mixed.ids[finite]])


def test_fixed_is_the_same_as_offsets(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(50 * 8, 32)).astype(np.float32)
    vectors = TokenVectors(flat, np.arange(51) * 8)
    loose = TokenIndex.build(tmp_path / "loose", vectors)
    fixed = TokenIndex.build(tmp_path / "fixed", vectors, fixed=8)
    assert not list(fixed.path.rglob("offsets.npy"))
    for seed, method in itertools.product(range(5), METHODS):
        a = loose.search(make_query(32, 6, seed), 10, TokenSearch(method=method, probes=3))
        b = fixed.search(make_query(32, 6, seed), 10, TokenSearch(method=method, probes=3))
        np.testing.assert_array_equal(a.ids, b.ids)
        np.testing.assert_array_equal(a.scores, b.scores)


def test_refinement_is_nearer_to_exact(tmp_path: Path) -> None:
    vectors = make_vectors(300, 64, longest=20, seed=9)
    coarse = TokenIndex.build(tmp_path / "coarse", vectors, bits=1)
    fine = TokenIndex.build(tmp_path / "fine", vectors, bits=1, refinement="float16")
    query = make_query(64, 8)
    truth = brute_force(vectors, query)
    hits = fine.search(query, 10, TokenSearch(rescore=100))
    np.testing.assert_allclose(hits.scores, truth[hits.ids], atol=0.01)
    assert set(hits.timings) >= {"prepare", "refine", "rescore"}
    assert truth[hits.ids].sum() >= truth[coarse.search(query, 10).ids].sum()
