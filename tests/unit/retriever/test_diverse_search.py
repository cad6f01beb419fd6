"""Hits that do not repeat each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from asterism import Document, Retriever
from asterism.errors import FilterError, SettingError, TextError
from asterism.retriever.diverse_search import search_diverse
from asterism.search.diversity import pick_diverse
from tests.unit.retriever.all_views import FEW, PutWith

QUERY = "who measured the speed of light?"


@pytest.mark.parametrize("method", [None, "dense", "lexical", "colbert"])
def test_the_best_of_the_candidates(put_with: PutWith, m3: Path, method: str | None) -> None:
    made = put_with(m3)
    candidates = made.search(QUERY, 3, method=method).ids
    dense = made.collection.snapshot().dense
    assert dense is not None
    rows = dense.read_vectors(np.array([[document.id for document in FEW].index(id) for id in candidates]))
    vector = made.runner.encode([QUERY], made.runner.plan("dense", None)).dense
    assert vector is not None
    places, scores = pick_diverse(vector[0], rows, 2, 0.3)
    found = search_diverse(made, QUERY, 2, candidates=3, balance=0.3, method=method)
    assert found.ids == [candidates[place] for place in places]
    assert [hit.score for hit in found] == scores.tolist()
    assert (found.query, found.method) == (QUERY, method or "hybrid")


def test_a_copy_is_no_second_hit(put_with: PutWith, m3: Path) -> None:
    made = put_with(m3, [Document("a", QUERY), Document("b", QUERY), Document("c", "the lazy dog", "", {"x": 1})])
    assert search_diverse(made, QUERY, 2).ids == ["a", "c"]
    assert search_diverse(made, QUERY, 2, balance=1).ids == ["a", "b"]
    assert search_diverse(made, QUERY, 2, filter={"x": 1}).ids == ["c"]
    made.delete(["a", "b", "c"])
    assert search_diverse(made, QUERY).ids == []


def test_an_empty_index(m3: Path, tmp_path: Path) -> None:
    with Retriever.create(tmp_path / "x.ast", m3) as made:
        assert search_diverse(made, QUERY).ids == []


def test_wrong_use(put_with: PutWith, m3: Path, tokens: Path) -> None:
    made = put_with(m3)
    with pytest.raises(SettingError, match=r"need the view 'dense' to compare documents, the index has lexical, multi"):
        search_diverse(put_with(tokens), QUERY)
    with pytest.raises(SettingError, match="balance is 2"):
        search_diverse(made, QUERY, balance=2)
    with pytest.raises(SettingError, match="candidates is 0"):
        search_diverse(made, QUERY, candidates=0)
    with pytest.raises(SettingError, match="method"):
        search_diverse(made, QUERY, method="cross")
    with pytest.raises(TextError):
        search_diverse(made, " ")
    with pytest.raises(FilterError):
        search_diverse(made, QUERY, filter={"$x": 1})
