"""Lexical search equals NumPy for any segments, masks and ties: same documents, same scores, however added."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asterism import Collection, Document, LexicalWeights, Representations, TermCounting, Views
from asterism.kernels import _native
from asterism.views.lexical.bm25 import Bm25
from tests.conftest import found_in
from tests.lexical_corpora import chosen, expected_hits, hurried, joined, make_entries, searcher_of, weigh_by_hand

QUIET = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@QUIET
@given(data=st.data())
def test_search_equals_reference(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    seed = data.draw(st.integers(0, 10**6), "seed")
    vocabulary = data.draw(st.sampled_from([2, 40, 3000]), "vocabulary")
    levels = data.draw(st.sampled_from([1, 4, 1000]), "different weights")
    sizes = data.draw(st.lists(st.sampled_from([0, 1, 30, 200, 900]), min_size=1, max_size=3), "segments")
    parts = [make_entries(size, 30, vocabulary, levels, seed + i) for i, size in enumerate(sizes)]
    entries = joined(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASTERISM_KERNELS", data.draw(st.sampled_from(_native.kernel_names()), "kernels"))
        searcher = searcher_of(tmp_path_factory.mktemp("lexical"), parts)
    queries = make_entries(data.draw(st.integers(0, 6), "queries"), 10, vocabulary + 1, levels, seed + 9)
    rng = np.random.default_rng(seed)
    share = data.draw(st.sampled_from([0.0, 0.02, 0.5]), "eligible")
    # The last search reuses a workspace.
    for eligible in (None, rng.random(len(entries)) < share, None):
        for k in (1, 7, 50, len(entries) + 1):
            threads = data.draw(st.integers(1, 3), "threads")
            ids, scores = searcher.search(queries, k, eligible, threads)
            expected_ids, expected_scores = expected_hits(entries, queries, min(k, len(entries)), eligible)
            np.testing.assert_array_equal(ids, expected_ids)
            np.testing.assert_array_equal(scores, expected_scores)


@QUIET
@given(seed=st.integers(0, 10**6), vocabulary=st.sampled_from([5, 500]))
def test_scores_and_contributions_are_those_of_the_search(
    seed: int, vocabulary: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    parts = [make_entries(size, 20, vocabulary, 1000, seed + size) for size in (70, 130)]
    searcher = searcher_of(tmp_path_factory.mktemp("lexical"), parts)
    queries = make_entries(3, 9, vocabulary, 1000, seed)
    ids, scores = searcher.search(queries, 200)
    for i in range(3):
        terms, weights = queries[i]
        found = ids[i] >= 0
        every = searcher.scores((terms, weights), np.arange(200))
        np.testing.assert_array_equal(every[ids[i][found]], scores[i][found])
        assert (every > 0).sum() == found.sum()
        for document in ids[i][found][:3]:
            added = searcher.explain((terms, weights), int(document))[0]
            total = np.float32(0)
            for value in added:
                total += value
            assert total == every[document]


SETTINGS = st.tuples(st.sampled_from([0.0, 0.5, 0.9, 2.0, 1000.0]), st.sampled_from([0.0, 0.4, 0.75, 1.0]))
MEANS = st.floats(1, 1e6)


@QUIET
@given(data=st.data())
def test_counted_search_equals_reference(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """For segments written with any mean length: a search uses that of all documents."""
    seed = data.draw(st.integers(0, 10**6), "seed")
    k1, b = data.draw(SETTINGS, "k1 and b")
    levels = data.draw(st.sampled_from([1, 4, 1000, 100_000]), "different counts")
    sizes = data.draw(st.lists(st.sampled_from([0, 1, 30, 200, 900]), min_size=1, max_size=3), "segments")
    parts = [make_entries(size, 30, 60, levels, seed + i, counts=True) for i, size in enumerate(sizes)]
    written = [Bm25(k1, b, data.draw(MEANS, "mean length")) for _ in parts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASTERISM_KERNELS", data.draw(st.sampled_from(_native.kernel_names()), "kernels"))
        searcher = searcher_of(tmp_path_factory.mktemp("lexical"), parts, written)
    weighted = weigh_by_hand(joined(parts), k1, b)
    queries = make_entries(5, 10, 61, 1000, seed + 9)
    for k in (1, 7, len(weighted) + 1):
        ids, scores = searcher.search(queries, k)
        expected_ids, expected_scores = expected_hits(weighted, queries, min(k, max(1, len(weighted))), None)
        np.testing.assert_array_equal(ids, expected_ids[:, : ids.shape[1]])
        np.testing.assert_array_equal(scores, expected_scores[:, : ids.shape[1]])


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    k1_and_b=SETTINGS,
    means=st.tuples(MEANS, MEANS),
    lengths=st.lists(st.integers(1, 2**32 - 1), min_size=1, max_size=20),
    seed=st.integers(0, 10**6),
)
def test_bounds_stay_bounds_for_any_mean(
    k1_and_b: tuple[float, float], means: tuple[float, float], lengths: list[int], seed: int
) -> None:
    """Also by the simple bound: never more than the ratio of the means."""
    written, now = (Bm25(*k1_and_b, mean) for mean in means)
    counts = np.minimum(np.random.default_rng(seed).integers(1, 1000, len(lengths)), lengths)
    before, after = (one.weigh(counts, np.array(lengths)).astype(np.float64) for one in (written, now))
    lowest, highest = now.compare_with(written, max(lengths))
    assert (after <= before * highest).all()
    assert (after >= before * lowest).all()
    ratio = means[1] / means[0]
    assert lowest >= min(1.0, ratio) * (1 - 1e-5)
    assert highest <= max(1.0, ratio) * (1 + 1e-5)


def add(collection: Collection, entries: LexicalWeights, numbers: np.ndarray, update: bool = False) -> None:
    """The documents with these numbers, in their order."""
    content = joined([chosen(entries, np.arange(len(entries)) == number) for number in numbers])
    with collection.writing() as writer:
        writer.add([Document(f"{n}", "text") for n in numbers], Representations(len(numbers), lexical=content), update)


def scores_in(collection: Collection, queries: LexicalWeights) -> list[dict[str, float]]:
    found = []
    for i in range(len(queries)):
        terms, weights = queries[i]
        asked = Representations(1, lexical=LexicalWeights([0, len(terms)], terms, weights))
        found.append({document.id: score for document, score in found_in(collection, asked, "lexical", 100).documents})
    return found


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(data=st.data(), seed=st.integers(0, 10**6), k1_and_b=SETTINGS)
def test_scores_do_not_depend_on_batches(
    data: st.DataObject, seed: int, k1_and_b: tuple[float, float], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Nor on their order, nor on earlier contents of a document once they are compacted: bit for bit."""
    documents, folder = 40, tmp_path_factory.mktemp("batches")
    entries = make_entries(documents, 30, 40, 9, seed, counts=True)
    queries = make_entries(4, 8, 40, 1, seed + 1, counts=True)
    views = Views(lexical="words", counting=TermCounting(*k1_and_b))
    order = np.array(data.draw(st.permutations(range(documents)), "order"))
    cuts = sorted(data.draw(st.sets(st.integers(1, documents - 1), max_size=6), "cuts"))
    with hurried():
        once = Collection.create(folder / "once", views, {})
        add(once, entries, np.arange(documents))
        expected = scores_in(once, queries)
        batches = Collection.create(folder / "batches", views, {})
        for batch in np.split(order, cuts):
            add(batches, entries, batch)
        assert scores_in(batches, queries) == expected
        others = make_entries(documents, 60, 40, 9, seed + 2, counts=True)
        numbers = np.array(sorted(data.draw(st.sets(st.integers(0, documents - 1), max_size=9), "updated")), np.int64)
        add(batches, others, numbers, update=True)
        add(batches, entries, numbers, update=True)
        with batches.writing() as writer:
            writer.settle()
            writer.compact()
        assert scores_in(batches, queries) == expected
        once.close()
        batches.close()
