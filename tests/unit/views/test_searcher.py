"""One protocol for every view: what a search scores, `scores` gives again to the bit, and `explain` adds up to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asterism import Collection, Document, TokenBuild, TokenSearch, Views
from asterism.collection.policy import Policy
from asterism.errors import SettingError, VectorsError
from asterism.representations import Representations
from asterism.settings import VIEWS, View
from asterism.views.searcher import ViewSearcher
from tests.conftest import in_all_views, make_vectors

BUILDS = {
    "flat": (TokenBuild(threads=1), Policy()),
    "coded": (TokenBuild(threads=1), Policy(flat_tokens=50, graph_documents=20)),
    "refined": (TokenBuild(bits=2, refinement="float16", threads=1), Policy(flat_tokens=50)),
}
QUERIES = in_all_views(make_vectors(3, seed=9, shortest=2))


@pytest.fixture(params=BUILDS)
def collection(request: pytest.FixtureRequest, tmp_path: Path) -> Collection:
    """Ninety documents in three segments."""
    build, policy = BUILDS[request.param]
    made = Collection.create(tmp_path / "x", Views(build, True, "words"), {}, policy)
    with made.writing() as writer:
        for part in range(3):
            documents = [Document(f"{part}-{i}", "text") for i in range(30)]
            writer.add(documents, in_all_views(make_vectors(30, seed=part, shortest=1)))
            if part == 0:
                writer.settle()
    return made


def searcher_of(collection: Collection, view: View) -> ViewSearcher[Any, Any]:
    found: ViewSearcher[Any, Any] = getattr(collection.snapshot(), view)
    return found


@pytest.mark.parametrize("view", VIEWS)
def test_scores_are_those_of_a_search(collection: Collection, view: View) -> None:
    searcher = searcher_of(collection, view)
    queries = searcher.prepare(QUERIES)
    for eligible in (None, np.arange(90) % 4 > 0):
        hits = searcher.search(queries, 60, eligible, 2)
        for i in range(len(QUERIES)):
            ids = hits.ids[i][hits.ids[i] >= 0]
            assert len(ids) > 0
            documents = np.sort(ids)
            again = searcher.scores(queries[i], documents)[np.searchsorted(documents, ids)]
            np.testing.assert_array_equal(again, hits.scores[i][: len(ids)])


@pytest.mark.parametrize("view", VIEWS)
def test_an_explanation_adds_up_to_the_score(collection: Collection, view: View) -> None:
    searcher = searcher_of(collection, view)
    queries = searcher.prepare(QUERIES)
    every = np.arange(90)
    for i in range(len(QUERIES)):
        scores = searcher.scores(queries[i], every)
        totals = [searcher.explain(queries[i], document).max(axis=0).sum() for document in range(90)]
        np.testing.assert_allclose(totals, scores, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("view", VIEWS)
def test_queries_without_the_view_are_refused(collection: Collection, view: View) -> None:
    with pytest.raises(VectorsError, match="the queries have no"):
        searcher_of(collection, view).prepare(Representations(1))


@pytest.mark.parametrize("view", VIEWS)
def test_a_mask_of_another_size_is_refused(collection: Collection, view: View) -> None:
    searcher = searcher_of(collection, view)
    queries = searcher.prepare(QUERIES)
    with pytest.raises(SettingError, match=r"shape \(7,\), expected bool \(90,\)"):
        searcher.search(queries, 3, np.ones(7, bool))


def test_scores_after_other_searches(collection: Collection) -> None:
    """A table of centroid scores that a search left is used for its own query alone."""
    searcher = collection.snapshot().multi
    assert searcher is not None
    queries, every = searcher.prepare(QUERIES), np.arange(90)
    alone = [searcher.scores(queries[i], every) for i in range(3)]
    for i in (2, 0, 1, 1, 2):
        searcher.search(searcher.gather([queries[i]]), 5)
        np.testing.assert_array_equal(searcher.scores(queries[i], every[:40]), alone[i][:40])
        other = (i + 1) % 3
        np.testing.assert_array_equal(searcher.scores(queries[other], every[30:50]), alone[other][30:50])
        np.testing.assert_array_equal(searcher.scores(queries[other], every), alone[other])


def test_documents_beyond_the_last_are_refused(collection: Collection) -> None:
    searcher = collection.snapshot().multi
    assert searcher is not None
    query = searcher.prepare(QUERIES)[0]
    for documents in ([90], [-1], [2**33], [2**62]):
        with pytest.raises(IndexError):
            searcher.scores(query, np.array(documents))
    assert searcher.scores(query, np.empty(0, np.int64)).shape == (0,)
    with pytest.raises(ValueError, match="other dimensions"):
        searcher.scores(query[:, :8], np.array([0]))


def test_settings_make_another_searcher(collection: Collection) -> None:
    searcher = collection.snapshot().multi
    assert searcher is not None
    other = searcher.with_settings(TokenSearch(method="xtr"))
    assert (searcher.settings.method, other.settings.method) == ("colbert", "xtr")
    with pytest.raises(SettingError, match="expected TokenSearch"):
        searcher.with_settings(5)
