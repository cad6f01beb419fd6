"""Searches of one retriever: what they read from the index, and the shares that weights are tuned on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from asterism import HybridSearch, Retriever
from asterism.errors import InputError, SettingError, TextError
from asterism.retriever.search_runner import SearchRunner
from asterism.search.profile import UNMEASURED
from tests.unit.retriever.all_views import FEW, QUERY, PutWith
from tests.unit.retriever.documents import write_documents


@pytest.fixture
def made(put_with: PutWith, m3: Path) -> Retriever:
    return put_with(m3, write_documents(16))


def run(made: Retriever) -> SearchRunner:
    return SearchRunner(made.collection, lambda: made.encoder)


def test_the_plan_has_the_fusion_and_the_profile_of_the_index(made: Retriever) -> None:
    made.fusion = HybridSearch(weights=(1, 2, 3))
    plan = run(made).plan(None, None)
    assert (plan.method, plan.hybrid, plan.profile) == ("hybrid", made.fusion, made.profile)
    assert plan.profile != UNMEASURED
    assert run(made).plan("dense", None).profile == UNMEASURED  # not read where it is not used
    assert run(made).plan("hybrid:rrf", None).hybrid == HybridSearch(fusion="rrf")


def test_a_change_of_another_process_is_seen_at_the_next_search(made: Retriever) -> None:
    runner = run(made)
    before = runner.read_profile()
    with Retriever.open(made.path) as other:
        other.add(write_documents(16, 40))
        other.fusion = HybridSearch(fusion="rrf")
    assert runner.read_profile() == made.profile != before
    assert runner.read_fusion() == HybridSearch(fusion="rrf")


def test_a_search_is_that_of_the_retriever(made: Retriever) -> None:
    queries = [QUERY, "vector"]
    for method in (None, "dense", "colbert", "hybrid:linear"):
        assert run(made).search_many(queries, 5, method, None, None, 1) == made.search_many(queries, 5, method=method)


def test_mistakes_are_told_before_the_model_is_loaded(made: Retriever) -> None:
    runner = SearchRunner(made.collection, lambda: pytest.fail("it was loaded"))
    for wrong, error in (("fox", TextError), ([5], InputError), (["fox", ""], InputError)):
        with pytest.raises(error):
            runner.search_many(wrong, 5, None, None, None, 1)
    with pytest.raises(SettingError, match="method is 'bm25'"):
        runner.search_many(["fox"], 5, "bm25", None, None, 1)
    with pytest.raises(SettingError, match="k is 0"):
        runner.search_many(["fox"], 0, None, None, None, 1)
    assert runner.search_many([], 5, None, None, None, 1) == []


@pytest.mark.parametrize("fusion", ["standard", "linear"])
def test_shares_weighted_by_the_weights_rank_as_a_search(made: Retriever, fusion: str) -> None:
    made.fusion = HybridSearch(fusion=fusion)
    queries = [QUERY, "the speed of light", "東京 fox"]
    weights = dict(zip(("dense", "lexical", "multi"), made.weights, strict=True))
    for query, (ids, shares) in zip(queries, run(made).share_evenly(queries), strict=True):
        totals = sum(weights[view] * shares[view].astype(np.float64) for view in shares)
        order = np.argsort(-totals, kind="stable")
        found = made.search(query, 50)
        assert [ids[i] for i in order] == found.ids
        ratio = totals[order][0] / found[0].score
        np.testing.assert_allclose(totals[order], [ratio * hit.score for hit in found], rtol=1e-4, atol=1e-5)


def test_an_explanation_adds_up_to_the_score(made: Retriever) -> None:
    for hit in made.search(QUERY):
        explanation = run(made).explain(QUERY, hit.id, 10, None, None, None)
        assert explanation.method == "hybrid"
        assert sum(share.share for share in explanation.shares) == pytest.approx(hit.score, abs=1e-5)
        assert explanation.score == pytest.approx(hit.score, abs=1e-5)


def test_a_query_that_the_model_cannot_read_is_searched_by_words(put_with: PutWith, tokens: Path) -> None:
    """Of an index whose words are counted without the model."""
    made = put_with(tokens, FEW)
    explanation = made.explain("東京 מדינה", "fox")
    assert {share.view: share.share for share in explanation.shares}["multi"] == 0
    assert {share.view: abs(share.share) > 0 for share in made.explain("quick fox", "fox").shares} == {
        "lexical": True,
        "multi": True,
    }
