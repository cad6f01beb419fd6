"""Standard scores: each view by its profile, and by what the model can read of the query."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asterism import Collection, HybridSearch, TokenSearch
from asterism.search.fusion import weigh_views
from asterism.search.profile import Profile, ViewProfile
from asterism.settings import K1, VIEWS

from .by_hand import Text, axis, candidates_in, collection_of, found_in, plan_of
from .few_texts import FEW, QUERY, SCORES

PROFILE = Profile(
    {
        "dense": ViewProfile(0.25, 0.5, 1.0),
        "lexical": ViewProfile(0.5, 2.0, 0.25 ** (1 / 3)),  # weights are third powers: 1, 0.25 and 3 · 1/3
        "multi": ViewProfile(-0.125, 0.75, 3 ** (-1 / 3)),
    },
    readable=0.8,
    slope=3.0,
    midpoint=0.4,
)


def standardise(scores: dict[str, Any], total: tuple[float, float, float]) -> dict[str, float]:
    """Scores of dense, lexical and multi by id -> totals, for the total weight of each view."""
    found = {}
    for id, (dense, lexical, multi) in scores.items():
        values = (
            (dense - 0.25) / 0.5,
            (lexical - 0.5) / 2.0,
            (multi + 0.125) / 0.75,
        )
        found[id] = float(np.dot(values, total) / sum(total))
    return found


def test_standard_scores_of_a_models_weights(few: Collection) -> None:
    """A model's own term weights have a scale, and are not divided."""
    found = found_in(few, QUERY, plan_of("hybrid", profile=PROFILE))
    expected = standardise(SCORES, (1.0, 0.25, 1.0))
    assert dict(found) == pytest.approx(expected, abs=1e-6)
    assert [id for id, _ in found] == sorted(expected, key=lambda id: -expected[id])


@pytest.mark.parametrize("weights", [(0.2, 0.3, 0.5), (1, 0, 0), (0, 2, 0), (0, 1, 5)])
def test_given_weights_replace_the_worth(few: Collection, weights: Any) -> None:
    plan = plan_of("hybrid", HybridSearch(weights=weights), profile=PROFILE)
    assert dict(found_in(few, QUERY, plan)) == pytest.approx(standardise(SCORES, weights), abs=1e-6)


@pytest.mark.parametrize("readable", [0.0, 0.4, 0.8, 1.0])
@pytest.mark.parametrize("weights", [None, (1, 1, 1)])
def test_a_model_that_weighs_terms_fades_as_a_whole(few: Collection, readable: float, weights: Any) -> None:
    """All views are the model's, so none is favoured, not even for a query that it cannot read at all."""
    plan = plan_of("hybrid", HybridSearch(weights=weights), profile=PROFILE)
    found = dict(found_in(few, replace(QUERY, readable=readable), plan))
    whole = standardise(SCORES, weights or (1.0, 0.25, 1.0))
    assert found == pytest.approx(whole, abs=1e-6)


COUNTED = [
    Text("a", axis(1.0), {1: 2.0, 9: 1.0}, np.stack([axis(0.5), axis(0, 0.25)])),
    Text("b", axis(0.5), {1: 1.0, 2: 1.0}, np.stack([axis(0.25)])),
    Text("c", axis(0.25), {2: 3.0, 9: 3.0}, np.stack([axis(1.0, 1.0)])),
    Text("d", axis(0.125), {9: 1.0}),
]
COUNTED_QUERY = Text(dense=axis(1), terms={1: 1.0, 2: 2.0, 77: 1.0}, tokens=np.stack([axis(1), axis(0, 1)]))


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Collection, dict[str, Any]]]:
    """An index of counted words; by id, its scores for COUNTED_QUERY, BM25 by the root of what is possible."""
    with closing(
        collection_of(tmp_path_factory.mktemp("counted") / "x", COUNTED[:2], COUNTED[2:], counted=True)
    ) as made:
        bm25 = dict(found_in(made, COUNTED_QUERY, plan_of("lexical")))
        rarity = {df: math.log(1 + (4 - df + 0.5) / (df + 0.5)) for df in (0, 2)}  # two texts have term 1, two term 2
        possible = (K1 + 1) * (rarity[2] + 2 * rarity[2] + rarity[0])
        assert set(bm25) == {"a", "b", "c"}
        assert max(bm25.values()) < possible
        yield made, {id: (SCORES[id][0], bm25.get(id, 0.0) / math.sqrt(possible), SCORES[id][2]) for id in SCORES}


@pytest.mark.parametrize("readable", [0.0, 0.4, 0.7, 0.78, 1.0])
@pytest.mark.parametrize("weights", [None, (1, 1, 1), (0, 2, 3)])
def test_standard_scores_of_counted_words(counted: Any, readable: float, weights: Any) -> None:
    """Words are counted without the model, which fades if it reads less of the query than 0.95 of its usual share."""
    made, scores = counted
    plan = plan_of("hybrid", HybridSearch(weights=weights), profile=PROFILE)
    found = dict(found_in(made, replace(COUNTED_QUERY, readable=readable), plan))
    dense, lexical, multi = weights or (1.0, 0.25, 1.0)
    trust = min(1, readable / (0.95 * 0.8)) ** 12
    assert found == pytest.approx(standardise(scores, (dense * trust, lexical, multi * trust)), abs=1e-6)


def test_a_query_that_is_not_read_is_a_query_of_words(counted: Any) -> None:
    made, _ = counted
    found = [id for id, _ in found_in(made, replace(COUNTED_QUERY, readable=0.0), plan_of("hybrid", profile=PROFILE))]
    words = [id for id, _ in found_in(made, COUNTED_QUERY, plan_of("lexical"))]
    assert found[: len(words)] == words


def test_views_of_the_model_order_an_unread_query_if_words_have_no_weight(counted: Any) -> None:
    made, _ = counted
    plan = plan_of("hybrid", HybridSearch(weights=(1, 0, 1)), profile=PROFILE)
    read, unread = (dict(found_in(made, replace(COUNTED_QUERY, readable=share), plan)) for share in (1.0, 0.0))
    assert len(set(unread.values())) > 1
    assert unread == pytest.approx(read, abs=1e-6)


def test_a_query_without_known_words(counted: Any) -> None:
    made, scores = counted
    plan = plan_of("hybrid", profile=PROFILE)
    for terms in ({}, {77: 1.0}):
        found = dict(found_in(made, replace(COUNTED_QUERY, terms=terms), plan))
        without = {id: (dense, 0.0, multi) for id, (dense, _, multi) in scores.items()}
        assert found == pytest.approx(standardise(without, (1.0, 0.25, 1.0)), abs=1e-6)


def test_an_index_that_was_not_measured_has_usual_scales(few: Collection) -> None:
    usual = ((0.15, 0.4, 1), (0.1, 1.6, 1), (0.2, 0.25, 3))
    expected = {
        id: sum(weight * (value - low) / gap for value, (low, gap, weight) in zip(values, usual, strict=True)) / 5
        for id, values in SCORES.items()
    }
    assert dict(found_in(few, QUERY, plan_of("hybrid"))) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("views", [("multi", "dense"), ("multi", "lexical"), ("dense", "lexical")], ids="+".join)
def test_standard_scores_of_two_views(tmp_path: Path, views: tuple[str, ...]) -> None:
    with closing(collection_of(tmp_path / "x", FEW[:2], FEW[2:], views=views)) as made:
        total = tuple(np.where([view in views for view in VIEWS], (1.0, 0.25, 1.0), 0))
        found = dict(found_in(made, QUERY, plan_of("hybrid", None, views, PROFILE)))
        expected = standardise(SCORES, total)
        if "dense" not in views:
            del expected["d"]  # it has no token vectors, and no word of the query
        assert found == pytest.approx(expected, abs=1e-6)


def test_candidates_of_token_vectors_are_asked_for_only_where_another_view_is_missing(tmp_path: Path) -> None:
    """With one candidate of each view: dense finds a, words find b, token vectors c."""
    settings = HybridSearch(depth=1)
    with closing(collection_of(tmp_path / "all", FEW)) as made:
        assert candidates_in(made, QUERY, settings) == {"a", "b"}
        assert candidates_in(made, QUERY, replace(settings, fusion="linear")) == {"a", "b", "c"}
        asked = replace(settings, tokens=TokenSearch(method="exact"))
        assert candidates_in(made, QUERY, asked) == {"a", "b", "c"}  # settings of their search ask for it
    for other, found in (("dense", "a"), ("lexical", "b")):
        with closing(collection_of(tmp_path / other, FEW, views=("multi", other))) as made:
            assert candidates_in(made, QUERY, settings) == {found, "c"}


def test_calibrated_scores_keep_the_order(few: Collection) -> None:
    plain = found_in(few, QUERY, plan_of("hybrid", profile=PROFILE))
    found = found_in(few, QUERY, plan_of("hybrid", HybridSearch(calibrated=True), profile=PROFILE))
    assert [id for id, _ in found] == [id for id, _ in plain]
    expected = [1 / (1 + math.exp(-3.0 * (score - 0.4))) for _, score in plain]
    assert [score for _, score in found] == pytest.approx(expected, abs=1e-6)


def test_scores_too_far_apart_to_calibrate_keep_the_order(few: Collection) -> None:
    """Many totals have the calibrated score 1; they are ordered before they are calibrated."""
    steep = replace(PROFILE, slope=1e9, midpoint=-100.0)
    found = found_in(few, QUERY, plan_of("hybrid", HybridSearch(calibrated=True), profile=steep))
    assert [score for _, score in found] == [1.0] * 4
    assert [id for id, _ in found] == [id for id, _ in found_in(few, QUERY, plan_of("hybrid", profile=PROFILE))]


def test_the_weights_of_the_views() -> None:
    assert weigh_views(HybridSearch(), True, PROFILE) == pytest.approx((1.0, 0.25, 1.0))
    assert weigh_views(HybridSearch(), True, Profile({})) == (1.0, 1.0, 3.0)
    without_tokens = Profile({view: PROFILE.views[view] for view in ("dense", "lexical")})
    assert weigh_views(HybridSearch(), True, without_tokens)[:2] == pytest.approx((1.5, 0.25))
    assert weigh_views(HybridSearch(weights=(1, 2, 3)), True, PROFILE) == (1, 2, 3)
    assert weigh_views(HybridSearch(fusion="linear"), False, PROFILE) == (1.0, 0.3, 1.0)
    assert weigh_views(HybridSearch(fusion="linear"), True, PROFILE) == (1.0, 1.0, 1.0)
    assert weigh_views(HybridSearch(fusion="m3-long-all"), True, PROFILE) == (0.15, 0.5, 0.35)
