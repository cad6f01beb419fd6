"""Search and filters."""

from __future__ import annotations

from typing import Any

import pytest

from asterism import Retriever, TokenSearch
from tests.unit.retriever.documents import FEW, METHODS, QUERIES, Put


@pytest.mark.parametrize("method", METHODS)
def test_k_beyond_the_corpus_returns_all_that_have_words(few: Retriever, clustered: Retriever, method: Any) -> None:
    assert sorted(few.search("fox", 100, method=method).ids) == ["fox", "light", "python"]
    assert len(clustered.search("fox", 1000, method=method)) == len(clustered) == 190


def test_the_first_of_many_are_the_first_of_few(clustered: Retriever) -> None:
    assert clustered.search("quick fox", 5, method="exact").hits == clustered.search("quick fox", 9, method="exact")[:5]


@pytest.mark.parametrize("method", METHODS)
def test_an_empty_index_finds_nothing(put: Put, method: Any) -> None:
    made = put([])
    assert [len(ranking) for ranking in made.search_many(QUERIES, method=method)] == [0] * len(QUERIES)
    made.add(FEW)
    made.delete(document.id for document in FEW)
    for _ in range(2):
        assert (len(made), list(made), made.search("fox", method=method, filter={"year": 1}).hits) == (0, [], ())
        made.compact()
        made.check()
    made.add(FEW)
    assert len(made.search("fox", method=method)) == 3


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"lang": "en"}, {"fox", "light"}),
        ({"year": {"$gte": 2001}}, {"light", "python"}),
        ({"year": {"$gte": 2001}, "lang": "de"}, {"python"}),
        ({"$or": [{"lang": "de"}, {"year": {"$exists": False}}]}, {"python"}),
        ({"lang": {"$nin": ["en"]}}, {"python"}),
        ({"lang": "fr"}, set()),
        ({}, {"fox", "light", "python"}),
    ],
)
def test_filters(few: Retriever, where: dict[str, Any], expected: set[str], method: Any) -> None:
    assert set(few.search("fox", 4, filter=where, method=method).ids) == expected


@pytest.mark.parametrize("method", METHODS)
def test_a_filter_leaves_k_results(clustered: Retriever, method: Any) -> None:
    where = {"n": {"$gte": 180}}
    found = clustered.search("quick fox", 20, filter=where, method=method)
    assert sorted(found.ids) == sorted(f"d{i}" for i in range(180, 200))
    assert len(clustered.search("quick fox", 7, filter=where, method=method)) == 7


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("threads", [0, 1, 2])
def test_many_queries_as_one_by_one(clustered: Retriever, method: Any, threads: int) -> None:
    for where in (None, {"n": {"$lt": 100}}):
        many = clustered.search_many(QUERIES, 5, method=method, filter=where, threads=threads)
        assert many == [clustered.search(query, 5, method=method, filter=where) for query in QUERIES]


def test_no_queries(few: Retriever) -> None:
    assert few.search_many([]) == []


def test_the_method_overrides_the_settings(few: Retriever) -> None:
    assert few.search("fox").method == "hybrid"
    assert few.search("fox", settings=TokenSearch(method="xtr")).method == "xtr"
    assert few.search("fox", method="exact", settings=TokenSearch(method="xtr")).method == "exact"
