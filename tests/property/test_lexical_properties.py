"""Lexical search equals NumPy for any segments, masks and ties: same documents, same scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asterism.kernels import _native
from tests.lexical_corpora import expected_hits, joined, make_entries, searcher_of

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
