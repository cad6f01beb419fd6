"""A method's name and settings become a plan, or one clear error."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import combinations
from typing import Any, get_args

import pytest

from asterism import HybridSearch, TokenSearch
from asterism.errors import SettingError
from asterism.search.fusion import M3
from asterism.search.plan import SearchPlan
from asterism.search.profile import Profile
from asterism.settings import Fusion, Method

from .by_hand import ALL, plan_of

KEPT = HybridSearch(weights=(1, 2, 3), depth=7)
SUBSETS = [views for size in (1, 2, 3) for views in combinations(ALL, size)]


def test_the_default_is_the_best_that_the_views_allow() -> None:
    found = {views: plan_of(None, None, views).method for views in SUBSETS}
    for views, method in found.items():
        only = {"dense": "dense", "lexical": "lexical"}.get(views[0], "colbert")
        assert method == ("hybrid" if len(views) > 1 else only)


def test_settings_choose_a_method_where_none_is_named() -> None:
    assert plan_of(None, TokenSearch(method="xtr")).method == "xtr"
    assert plan_of(None, HybridSearch(fusion="rrf")).method == "hybrid"
    with pytest.raises(SettingError, match="method 'xtr' needs the view 'multi', the index has dense: build it"):
        plan_of(None, TokenSearch(method="xtr"), ("dense",))
    assert plan_of("exact", TokenSearch(method="xtr", probes=3)).tokens == TokenSearch(method="exact", probes=3)


def test_hybrid_uses_the_settings_of_the_index_by_default() -> None:
    def plan(method: str | None, settings: Any) -> HybridSearch:
        return SearchPlan.from_request(method, settings, ALL, lambda: KEPT).hybrid

    assert plan("hybrid", None) == KEPT
    assert plan("hybrid", HybridSearch(fusion="rrf")) == HybridSearch(fusion="rrf")
    assert plan("hybrid:linear", None) == HybridSearch(fusion="linear")  # named: neither weights nor depth of the index
    assert plan("hybrid:rrf", HybridSearch(depth=9)) == HybridSearch(fusion="rrf", depth=9)


def test_a_named_fusion_keeps_the_weights_of_the_settings() -> None:
    """Weights from the settings and a fusion from the method's name are combined."""
    given = HybridSearch(weights=(0.5, 0.2, 0.3), depth=9)
    assert plan_of("hybrid:m3-all", given).hybrid == HybridSearch("m3-all", (0.5, 0.2, 0.3), 9)


@pytest.mark.parametrize("method", get_args(Method))
@pytest.mark.parametrize("views", SUBSETS, ids="+".join)
def test_a_method_needs_its_views(method: str, views: tuple[str, ...]) -> None:
    needed = {"dense": "dense", "lexical": "lexical"}.get(method, "multi")
    if len(views) > 1 if method == "hybrid" else needed in views:
        plan = plan_of(method, None, views)
        assert plan.views(views) == (views if method == "hybrid" else (needed,))
    else:
        with pytest.raises(SettingError, match=f"the index has {', '.join(views)}: build it with --views") as told:
            plan_of(method, None, views)
        assert "\n" not in str(told.value)


@pytest.mark.parametrize("fusion", M3)
@pytest.mark.parametrize("views", [views for views in SUBSETS if len(views) > 1], ids="+".join)
def test_m3_needs_every_view_that_it_counts(fusion: Any, views: tuple[str, ...]) -> None:
    weights = dict(zip(("dense", "lexical", "multi"), M3[fusion].weights, strict=True))
    needed = {view for view, weight in weights.items() if weight} | set(M3[fusion].candidates)
    if needed <= set(views):
        assert plan_of(f"hybrid:{fusion}", None, views).hybrid.fusion == fusion
    else:
        with pytest.raises(SettingError, match=r"the index has .*: build it with --views"):
            plan_of(f"hybrid:{fusion}", None, views)


@pytest.mark.parametrize("fusion", get_args(Fusion))
def test_weights_of_missing_views_are_refused(fusion: Any) -> None:
    """All remaining weights are 0."""
    with pytest.raises(SettingError, match="the index has dense, lexical"):
        plan_of("hybrid", HybridSearch(fusion=fusion, weights=(0, 0, 1)), ("dense", "lexical"))


@pytest.mark.parametrize(
    ("method", "settings", "message"),
    [
        ("bm25", None, r"method is 'bm25', expected one of 'colbert', .*'hybrid', or 'hybrid:' and a fusion"),
        ("", None, "method is ''"),
        (5, None, "method is 5"),
        ("dense:rrf", None, "method is 'dense:rrf'"),
        ("Hybrid", None, "method is 'Hybrid'"),
        ("hybrid:bm25", None, "fusion is 'bm25', expected one of 'standard', 'linear', 'rrf', 'm3-dense"),
        ("hybrid: rrf", None, "fusion is ' rrf'"),
        ("hybrid:rrf:linear", None, "fusion is 'rrf:linear'"),
        ("hybrid", {"fusion": "rrf"}, r"settings is a dict, expected TokenSearch\(...\) or HybridSearch\(...\)"),
    ],
)
def test_unknown_methods_raise_an_error_of_one_line(method: Any, settings: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message) as told:
        plan_of(method, settings)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"fusion": "sum"}, "fusion is 'sum'"),
        ({"weight": (1, 1, 1)}, "did you mean 'weights'"),
        ({"depth": -1}, "depth is -1"),
        ({"depth": True}, "depth is True"),
        ({"calibrated": 1}, "calibrated is 1, expected True or False"),
        ({"calibrated": True, "fusion": "rrf"}, "calibrated scores need fusion='standard', not 'rrf'"),
        *(
            ({"weights": weights}, "expected three numbers for dense, lexical and multi, not all 0")
            for weights in ((0, 0, 0), (1, 1), (1, 1, -1), (1, float("nan"), 1), (1, 1, float("inf")), "abc", 5)
        ),
        *(
            ({"weights": weights}, "the largest from 1e-6 to 1e6")  # float32 would make them infinity or 0
            for weights in ((1e39, 1, 1), (1, 1e308, 1e308), (1e-320, 0, 0))
        ),
    ],
)
def test_wrong_hybrid_settings(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        HybridSearch.from_json(wrong)


@pytest.mark.parametrize(
    ("method", "settings", "message"),
    [
        ("dense", TokenSearch(), "settings is a TokenSearch, which method 'dense' does not use: pass no settings"),
        ("lexical", TokenSearch(), "which method 'lexical' does not use: pass no settings"),
        ("hybrid", TokenSearch(), r"pass HybridSearch\(tokens=TokenSearch\(...\)\)"),
        ("hybrid:rrf", TokenSearch(), r"pass HybridSearch\(tokens="),
        ("colbert", HybridSearch(), r"a HybridSearch, which method 'colbert' does not use: pass TokenSearch\(...\)"),
        ("dense", HybridSearch(), "which method 'dense' does not use: pass no settings"),
    ],
)
def test_settings_of_another_method_are_refused(method: str, settings: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        plan_of(method, settings)


def test_calibrated_scores_of_another_fusion_are_refused() -> None:
    assert plan_of("hybrid:standard", HybridSearch(calibrated=True)).hybrid.calibrated
    with pytest.raises(SettingError, match="calibrated scores need fusion='standard', not 'linear'"):
        plan_of("hybrid:linear", HybridSearch(calibrated=True))


def test_only_hybrid_search_reads_the_profile_of_the_index() -> None:
    profile = Profile({}, documents=5)
    assert plan_of("hybrid", profile=profile).profile == plan_of("hybrid:rrf", profile=profile).profile == profile
    for method in ("dense", "lexical", "colbert"):
        SearchPlan.from_request(method, None, ALL, HybridSearch, lambda: pytest.fail("it was read"))


def test_hybrid_search_carries_the_settings_of_token_search() -> None:
    tokens = TokenSearch(method="exact", probes=3)
    assert plan_of("hybrid", HybridSearch(tokens=tokens)).tokens == tokens
    assert plan_of("hybrid:rrf", HybridSearch(tokens=tokens)).tokens == tokens
    assert plan_of("hybrid").tokens == TokenSearch()
    stored = json.loads(json.dumps(asdict(HybridSearch(weights=(1, 2, 3), tokens=tokens))))
    assert HybridSearch.from_json(stored) == HybridSearch(weights=(1, 2, 3), tokens=tokens)
    assert HybridSearch.from_json({}) == HybridSearch.from_json({"tokens": None}) == HybridSearch()
    with pytest.raises(SettingError, match=r"tokens is a dict, expected TokenSearch\(...\) or None"):
        HybridSearch(tokens={"probes": 3})
    with pytest.raises(SettingError, match="no setting 'prob'"):
        HybridSearch.from_json({"tokens": {"prob": 3}})
