"""Lexical segments: what is written, merged, refused."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from asterism import LexicalWeights
from asterism.errors import SettingError, VectorsError
from asterism.kernels import _native
from asterism.views.lexical.bm25 import Bm25, idf
from asterism.views.lexical.merge import merge_lexical
from asterism.views.lexical.searcher import LexicalSearcher
from asterism.views.lexical.segment import LexicalFacts, open_lexical
from asterism.views.lexical.writer import write_lexical
from tests.lexical_corpora import chosen, expected_hits, joined, make_entries, searcher_of, weigh_by_hand


def query_of(terms: list[int], weights: list[float]) -> tuple[np.ndarray, np.ndarray]:
    return np.array(terms, np.int64), np.array(weights, np.float32)


def test_two_documents(tmp_path: Path) -> None:
    entries = LexicalWeights([0, 2, 2, 4], [5, 2**62, 5, 9], [1, 2, 0.5, 0])
    facts = write_lexical(tmp_path / "x", entries, None)
    assert LexicalFacts(**asdict(facts)) == facts
    assert (facts.documents, facts.terms, facts.postings, facts.length, facts.count_type) == (3, 2, 3, 0, "")
    opened = open_lexical(tmp_path / "x", facts)
    assert opened.term_ids.tolist() == [5, 2**62]
    assert opened.largest.tolist() == [1, 2]
    searcher = LexicalSearcher(tmp_path, [opened, opened])
    hits = searcher.search(LexicalWeights([0, 2, 3], [5, 7, 9], [2, 1, 1]), 5)
    assert hits.ids.tolist() == [[0, 3, 2, 5, -1], [-1] * 5]
    assert hits.scores[0, :4].tolist() == [2, 2, 1, 1]
    assert searcher.frequencies([1, 5, 9, 2**62]).tolist() == [0, 4, 0, 2]
    assert searcher.scores(query_of([5, 2**62], [1, 1]), np.array([3, 1])).tolist() == [3, 0]
    assert searcher.explain(query_of([5, 6, 2**62], [1, 1, 3]), 0).tolist() == [[1, 0, 6]]


def test_nothing_at_all(tmp_path: Path) -> None:
    empty = LexicalWeights([0], [], [])
    searcher = searcher_of(tmp_path, [empty, LexicalWeights([0, 0], [], [])])
    assert searcher.search(LexicalWeights([0, 1], [3], [1]), 2).ids.tolist() == [[-1]]
    assert searcher.search(empty, 2).ids.shape == (0, 1)
    assert searcher.frequencies([3]).tolist() == [0]
    nobody = LexicalSearcher(tmp_path, [])
    assert nobody.search(LexicalWeights([0, 1], [3], [1]), 1).ids.tolist() == [[]]


@pytest.mark.parametrize("kernels", _native.kernel_names())
@pytest.mark.parametrize("levels", [1, 1000])
def test_more_documents_than_a_block(
    kernels: str, levels: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASTERISM_KERNELS", kernels)
    entries = make_entries(17_000, 8, 300, levels)
    searcher = searcher_of(tmp_path, [entries])
    queries = make_entries(5, 30, 300, levels, seed=1)
    for k in (1, 10, 300):
        ids, scores = searcher.search(queries, k)
        expected_ids, expected_scores = expected_hits(entries, queries, k, None)
        np.testing.assert_array_equal(ids, expected_ids)
        np.testing.assert_array_equal(scores, expected_scores)


def test_weights_far_from_one(tmp_path: Path) -> None:
    entries = make_entries(200, levels=1000)
    queries = make_entries(5, levels=1000, seed=1)
    for i, (small, large) in enumerate(((1e-36, 1), (1e-30, 1e12), (1e12, 1e12))):
        scaled = LexicalWeights(entries.offsets, entries.terms, entries.weights * np.float32(small))
        asked = LexicalWeights(queries.offsets, queries.terms, queries.weights * np.float32(large))
        ids, scores = searcher_of(tmp_path / str(i), [scaled]).search(asked, 9)
        expected_ids, expected_scores = expected_hits(scaled, asked, 9, None)
        np.testing.assert_array_equal(ids, expected_ids)
        np.testing.assert_array_equal(scores, expected_scores)


def test_a_query_of_very_many_terms(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    terms = np.arange(8192)
    documents = [np.flatnonzero(rng.random(8192) < share) for share in (0.5, 0.5, 0.01, 0.9)]
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in documents])])
    entries = LexicalWeights(offsets, np.concatenate(documents), rng.random(offsets[-1]))
    query = LexicalWeights([0, 8192], terms, rng.random(8192))
    ids, scores = searcher_of(tmp_path, [entries]).search(query, 2)
    expected_ids, expected_scores = expected_hits(entries, query, 2, None)
    np.testing.assert_array_equal(ids, expected_ids)
    np.testing.assert_array_equal(scores, expected_scores)


@pytest.mark.parametrize(("k1", "b"), [(0.9, 0.75), (0, 0.5), (1.2, 0), (2, 1), (1000, 1)])
def test_bm25(k1: float, b: float, tmp_path: Path) -> None:
    entries = make_entries(300, counts=True, levels=300)
    lengths = np.array([entries[i][1].sum() for i in range(300)]).astype(np.int64)
    mean = float(lengths.mean())
    bm25 = Bm25(k1, b, mean)
    searcher = searcher_of(tmp_path, [entries], bm25)
    (segment,) = searcher.segments
    assert searcher.bm25 == bm25
    assert (segment.facts.count_type, segment.facts.length) == ("uint16", lengths.sum())
    assert (segment.facts.longest, segment.weights) == (lengths.max(), None)
    np.testing.assert_array_equal(segment.read_lengths(), lengths)
    tf = entries.weights.astype(np.float64)
    long = np.repeat(lengths, np.diff(entries.offsets))
    there = tf > 0
    expected = tf[there] * (k1 + 1) / (tf[there] + k1 * (1 - b + b * long[there] / mean))
    np.testing.assert_allclose(bm25.weigh(tf[there], long[there]), expected, rtol=1e-6)
    weighted = weigh_by_hand(entries, k1, b)
    np.testing.assert_array_equal(bm25.weigh(tf[there], long[there]), weighted.weights[there])
    terms = make_entries(4, seed=1).terms[:6]
    terms = np.unique(terms)
    query = LexicalWeights([0, len(terms)], terms, idf(searcher.frequencies(terms), 300))
    ids, scores = searcher.search(query, 20)
    expected_ids, expected_scores = expected_hits(weighted, query, 20, None)
    np.testing.assert_array_equal(ids, expected_ids)
    np.testing.assert_array_equal(scores, expected_scores)
    assert idf(np.array([1]), 3) == np.float32(np.log(1 + 2.5 / 1.5))


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.7, 1.0])
def test_merging_gives_the_bytes_of_writing(counts: bool, share: float, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    parts = [
        make_entries(n, vocabulary=v, levels=300, seed=n, counts=counts) for n, v in ((200, 40), (0, 2), (90, 900))
    ]
    masks = [rng.random(len(part)) < share for part in parts]
    opened = searcher_of(tmp_path / "parts", parts, Bm25(0.9, 0.75, 12.5) if counts else None).segments
    living = joined([chosen(part, alive) for part, alive in zip(parts, masks, strict=True)])
    bm25 = Bm25(0.9, 0.75, 7.25) if counts else None
    merged = merge_lexical(tmp_path / "merged", list(zip(opened, masks, strict=True)), bm25, chunk_postings=100)
    assert merged == write_lexical(tmp_path / "written", living, bm25)
    for name in merged.files:
        assert (tmp_path / "merged" / name).read_bytes() == (tmp_path / "written" / name).read_bytes(), name
    if not counts:
        assert not opened[0].read_lengths().any()
        with pytest.raises(VectorsError, match="all have counts, or none"):
            merge_lexical(tmp_path / "other", list(zip(opened, masks, strict=True)), Bm25(0.9, 0.75, 3.0))


def test_what_cannot_be_used_is_refused(tmp_path: Path) -> None:
    bm25 = Bm25(0.9, 0.75, 2.0)
    for weights, counted, message in (
        ([-1.0], None, "expected numbers from 0"),
        ([1.5], bm25, "whole numbers"),
        ([2.0**33], bm25, "8589934592 terms, expected at most 4294967295"),
    ):
        with pytest.raises(VectorsError, match=message):
            write_lexical(tmp_path / "x", LexicalWeights([0, 1], [3], weights), counted)
    with pytest.raises(VectorsError, match="no negative number"):
        LexicalWeights([0, 1], [-3], [1])
    searcher = searcher_of(tmp_path, [make_entries(9)])
    query = LexicalWeights([0, 1], [3], [1])
    with pytest.raises(VectorsError, match="expected numbers from 0"):
        searcher.search(LexicalWeights([0, 1], [3], [-1]), 3)
    with pytest.raises(VectorsError, match="8193 terms"):
        searcher.search(LexicalWeights([0, 8193], np.arange(8193), np.ones(8193)), 3)
    for values, message in (
        ((0.9, 0.75, 0.0), "mean_length is 0.0"),
        ((-1, 0.75, 1), "k1 is -1"),
        ((0.9, 2, 1), "b is 2"),
        ((0.9, 0.75, float("nan")), "mean_length is nan"),
    ):
        with pytest.raises(SettingError, match=message):
            Bm25(*values)
    with pytest.raises(SettingError, match="k is 0"):
        searcher.search(query, 0)
    with pytest.raises(SettingError, match=r"eligible has type bool and shape \(8,\)"):
        searcher.search(query, 1, np.ones(8, bool))
    with pytest.raises(SettingError, match="from 0 to 8"):
        searcher.scores(query_of([3], [1]), np.array([9]))
