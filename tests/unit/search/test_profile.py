"""The scale and worth of each view, the length penalty and the calibration, computed again by hand in NumPy."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism.errors import DamagedIndex
from asterism.search.profile import UNMEASURED, Pairs, Profile, ViewProfile, fit_logistic
from asterism.settings import VIEWS, View
from asterism.storage.facts import Facts

COUNT = 12


def make_scores(own: float, others: float, seed: int, count: int = COUNT) -> np.ndarray:
    """(count, count): about `own` for a sentence's own document, about `others` for any other."""
    made = others + 0.1 * np.random.default_rng(seed).normal(size=(count, count))
    made[np.diag_indices(count)] += own - others
    return made


def find_rivals(scores: np.ndarray) -> np.ndarray:
    """(count,) the best of the other documents."""
    return np.array([max(scores[i, j] for j in range(len(scores)) if j != i) for i in range(len(scores))])


def measure(
    scores: Mapping[View, np.ndarray],
    rivals: Mapping[View, np.ndarray] | None = None,
    readable: float = 1.0,
) -> Profile:
    """The profile of an index that has these documents alone, or other rivals."""
    pairs = Pairs(scores)
    assert pairs.suffice
    best = {view: find_rivals(values) for view, values in scores.items()}
    return pairs.measure({**best, **(rivals or {})}, readable)


def find_found(scores: np.ndarray) -> int:
    """How many sentences have no other document that scores as high as their own."""
    return sum(all(scores[i, i] > scores[i, j] for j in range(len(scores)) if j != i) for i in range(len(scores)))


def list_others(scores: np.ndarray) -> list[float]:
    return [scores[i, j] for i in range(len(scores)) for j in range(len(scores)) if i != j]


WEIGHTS = {"dense": 1.0, "lexical": 1.0, "multi": 3.0}  # token vectors weigh three times what another view does
SCORES: dict[View, np.ndarray] = {
    "dense": make_scores(0.7, 0.2, 1),
    "lexical": make_scores(0.3, 0.2, 2),  # finds few
    "multi": make_scores(0.5, 0.3, 3),
}


@pytest.fixture(scope="module")
def measured() -> Profile:
    return measure(SCORES, readable=0.9)


# --- scale and worth ---


def test_what_it_was_measured_on(measured: Profile) -> None:
    assert (measured.pairs, measured.readable) == (COUNT, 0.9)
    assert set(measured.views) == set(VIEWS)


@pytest.mark.parametrize("view", VIEWS)
def test_the_gap_is_how_far_own_documents_are_above_the_others(measured: Profile, view: View) -> None:
    expected = np.median(np.diag(SCORES[view])) - np.mean(list_others(SCORES[view]))
    assert measured.views[view].gap == pytest.approx(expected, rel=1e-12)


def test_the_gap_is_at_least_the_deviation_of_the_others() -> None:
    """Where own documents do not score higher, scores keep their order and their scale."""
    upside_down = -SCORES["dense"]
    found = measure({"dense": upside_down})
    assert found.views["dense"].gap == pytest.approx(np.std(list_others(upside_down)), rel=1e-12)


@pytest.mark.parametrize("view", VIEWS)
def test_the_background_is_the_mean_of_the_others(measured: Profile, view: View) -> None:
    assert measured.views[view].background == pytest.approx(np.mean(list_others(SCORES[view])), rel=1e-12)


def hill(share: float) -> float:
    """1 for a share of 1, about a half at 0.75, next to nothing below 0.45."""
    return (1 + 0.75**8) / (1 + (0.75 / share) ** 8)


def test_worth_is_a_hill_function_of_the_share_of_found_documents(measured: Profile) -> None:
    """Relative to the best view, and as if each had found three more."""
    found = {view: find_found(SCORES[view]) for view in VIEWS}
    assert found["dense"] == COUNT
    assert 0 < found["lexical"] < found["multi"] <= COUNT
    for view in VIEWS:
        assert measured.views[view].worth == pytest.approx(hill((3 + found[view]) / (3 + COUNT)), rel=1e-12)


def test_a_tie_is_not_a_find() -> None:
    tied = make_scores(0.7, 0.2, 1)
    tied[0, 1] = tied[0, 0]
    found = measure({"dense": SCORES["dense"], "lexical": tied})
    assert found.views["lexical"].worth == pytest.approx(hill((2 + COUNT) / (3 + COUNT)))


def test_any_document_of_the_index_is_a_rival() -> None:
    """A sentence's own document must score higher than all others, not only than those that were chosen."""
    rivals = find_rivals(SCORES["dense"])
    rivals[:5] = 2
    found = measure({"dense": SCORES["dense"], "lexical": SCORES["dense"]}, rivals={"dense": rivals})
    assert found.views["lexical"].found == 1
    assert found.views["dense"].found == (COUNT - 5) / COUNT
    assert found.views["dense"].worth == pytest.approx(hill((3 + COUNT - 5) / (3 + COUNT)))


def test_a_view_that_finds_nothing_keeps_some_worth() -> None:
    found = measure({"dense": SCORES["dense"], "lexical": -SCORES["dense"]})
    assert found.views["lexical"].worth == pytest.approx(hill(3 / (3 + COUNT)))


def test_views_that_find_the_same_are_worth_the_same() -> None:
    found = measure({"dense": SCORES["dense"], "lexical": 100 * SCORES["dense"] - 7})
    assert found.views["lexical"].worth == found.views["dense"].worth == 1


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_too_few_pairs_tell_nothing(count: int) -> None:
    assert not Pairs({"dense": make_scores(0.7, 0.2, 1, count)}).suffice


def test_four_pairs_are_enough() -> None:
    found = measure({"dense": make_scores(0.7, 0.2, 1, 4)})
    assert found.pairs == 4


@pytest.mark.parametrize("constant", [0.0, 0.5, -1.0])
def test_a_view_that_does_not_tell_documents_apart(constant: float) -> None:
    """It has the usual scale and is worth nearly nothing; if no view does, nothing is known."""
    flat = np.full((COUNT, COUNT), constant)
    found = measure({"dense": SCORES["dense"], "lexical": flat})
    assert found.views["lexical"].gap == UNMEASURED.views["lexical"].gap
    assert found.views["lexical"].worth == pytest.approx(hill(3 / (3 + COUNT)))
    assert found.views["dense"] == measure({"dense": SCORES["dense"]}).views["dense"]
    assert not Pairs({"dense": flat, "lexical": flat}).suffice


def test_order_and_scale_of_the_pairs_do_not_matter(measured: Profile) -> None:
    order = np.random.default_rng(0).permutation(COUNT)
    mixed = {view: values[np.ix_(order, order)] for view, values in SCORES.items()}
    found = measure(mixed)
    assert found.slope == pytest.approx(measured.slope)
    for view in VIEWS:
        assert found.views[view].gap == pytest.approx(measured.views[view].gap)
        assert found.views[view].worth == measured.views[view].worth


# --- trust ---


@pytest.mark.parametrize(
    ("asked", "indexed", "expected"), [(0.475, 1.0, 0.5**12), (0.5, 0.5, 1), (0.48, 0.5, 1), (0, 1, 0)]
)
def test_trust_falls_below_nearly_the_share_of_the_documents(asked: float, indexed: float, expected: float) -> None:
    assert Profile({}, readable=indexed).trust(asked) == pytest.approx(expected)


def test_a_model_that_reads_none_of_the_documents() -> None:
    """Then a query is no worse than they are."""
    assert Profile({}, readable=0.0).trust(0.3) == 1
    assert Profile({}, readable=0.0).trust(0.0) == 0


# --- calibration ---


def lose(weights: np.ndarray, right: np.ndarray, random: np.ndarray) -> float:
    """What the fit minimises: both kinds weigh the same; a weak prior at slope 4, midpoint 0.5."""
    slope, shift = weights
    of_right = np.logaddexp(0, -(slope * right + shift)).sum()
    of_random = np.logaddexp(0, slope * random + shift).sum() * len(right) / len(random)
    return float(of_right + of_random + 0.05 / 2 * ((slope - 4) ** 2 + (shift + 2) ** 2))


def search_grid(right: np.ndarray, random: np.ndarray) -> np.ndarray:
    """The slope and shift of the least loss, by ever finer grids around the best so far."""
    best, width = np.array([5.0, 0.0]), 40.0
    while width > 1e-7:
        steps = [best + width * np.array([x, y]) for x in np.linspace(-1, 1, 9) for y in np.linspace(-1, 1, 9)]
        nearest = min(steps, key=lambda weights: lose(weights, right, random))
        width = width if (nearest != best).any() and np.abs(nearest - best).max() >= width else width / 2
        best = nearest
    return best


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("apart", [0.3, 1.0, 5.0])
def test_fit_equals_a_search_by_grid(seed: int, apart: float) -> None:
    rng = np.random.default_rng(seed)
    right, random = apart + 0.5 * rng.normal(size=20), 0.3 * rng.normal(size=200)
    slope, shift = search_grid(right, random)
    assert slope > 0.5
    assert fit_logistic(right, random) == (pytest.approx(slope, rel=1e-4), pytest.approx(-shift / slope, abs=1e-4))


def test_the_slope_stays_above_zero() -> None:
    """Even where random documents score higher than the right ones."""
    slope, midpoint = fit_logistic(np.full(30, -2.0), np.full(300, 2.0))
    assert slope == 0.5
    assert math.isfinite(midpoint)


def test_totals_far_away_are_fitted() -> None:
    slope, midpoint = fit_logistic(np.full(30, 1e4), np.full(300, -1e4))
    assert math.isfinite(slope)
    assert math.isfinite(midpoint)


def test_the_calibration_is_that_of_the_fused_totals(measured: Profile) -> None:
    views = measured.views
    parts = [WEIGHTS[view] * one.worth**3 * (SCORES[view] - one.background) / one.gap for view, one in views.items()]
    total = np.sum(parts, axis=0) / sum(WEIGHTS[view] * one.worth**3 for view, one in views.items())
    slope, midpoint = fit_logistic(np.diag(total), np.array(list_others(total)))
    assert (measured.slope, measured.midpoint) == (pytest.approx(slope), pytest.approx(midpoint))
    scores = measured.calibrate(total.astype(np.float32).ravel()).reshape(total.shape)
    assert np.diag(scores).mean() > 0.8
    assert np.mean(list_others(scores)) < 0.2


def test_calibrate_by_hand() -> None:
    profile = Profile({}, slope=2.0, midpoint=0.25)
    totals = np.array([-3.0, 0.25, 0.75, 4.0], np.float32)
    expected = [1 / (1 + math.exp(-2 * (total - 0.25))) for total in totals.tolist()]
    np.testing.assert_allclose(profile.calibrate(totals), expected, rtol=1e-6)


@given(
    st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=30),
    st.floats(0, 1e12),
    st.floats(-1e12, 1e12),
)
def test_calibrated_scores_are_from_0_to_1_in_the_same_order(
    totals: list[float], slope: float, midpoint: float
) -> None:
    ordered = np.sort(np.array(totals, np.float32))
    scores = Profile({}, slope=slope, midpoint=midpoint).calibrate(ordered)
    assert scores.dtype == np.float32
    assert ((scores >= 0) & (scores <= 1)).all()
    assert (np.diff(scores) >= 0).all()


# --- stored ---


def read(stored: object) -> Profile:
    return Profile.from_facts(Facts(stored, "x.ast: its profile"))


def test_what_is_stored_is_read(measured: Profile) -> None:
    assert read(json.loads(json.dumps(measured.to_json()))) == measured
    assert read(json.loads(json.dumps(UNMEASURED.to_json()))) == UNMEASURED


def test_a_view_that_was_not_measured_has_a_usual_profile(measured: Profile) -> None:
    only = read(Profile({"dense": measured.views["dense"]}).to_json())
    assert only.get("dense") == measured.views["dense"]
    assert only.get("multi") == UNMEASURED.views["multi"]


FORGED: list[tuple[str, Any]] = [
    *(("gap", value) for value in (math.nan, math.inf, -0.5, 0, 1e-13, 1e13, 10**400, "1", None, True, [1])),
    *(("background", value) for value in (math.nan, -math.inf, 1e13, "0", None, False, {})),
    *(("worth", value) for value in (math.nan, -0.1, 1.1, "1", None)),
]


@pytest.mark.parametrize(("key", "value"), FORGED)
@pytest.mark.parametrize("view", VIEWS)
def test_a_forged_view_is_refused(measured: Profile, view: View, key: str, value: Any) -> None:
    stored = json.loads(json.dumps(measured.to_json()))
    stored["views"][view][key] = value
    with pytest.raises(DamagedIndex, match=r"x\.ast: its profile") as told:
        read(stored)
    assert "\n" not in str(told.value)


FORGED_FACTS: list[tuple[str, Any]] = [
    *(("documents", value) for value in (-1, 1.5, "1", None, True, 2**63)),
    *(("pairs", value) for value in (-1, math.nan, None)),
    *(("readable", value) for value in (-0.1, 1.1, math.nan, None, True)),
    *(("slope", value) for value in (-1, math.nan, 1e13, [])),
    *(("midpoint", value) for value in (math.nan, -1e13, "0.5")),
    *(("views", value) for value in (None, [], "dense", {"sparse": {}}, {"dense": []}, {"dense": {}})),
]


@pytest.mark.parametrize(("key", "value"), FORGED_FACTS)
def test_forged_facts_are_refused(measured: Profile, key: str, value: Any) -> None:
    with pytest.raises(DamagedIndex, match=r"x\.ast: its profile") as told:
        read(measured.to_json() | {key: value})
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("key", sorted({*UNMEASURED.to_json()} - {"added"}))  # an earlier version had it not
def test_a_missing_fact_is_named(measured: Profile, key: str) -> None:
    stored = measured.to_json()
    del stored[key]
    with pytest.raises(DamagedIndex, match=f"has no '{key}'"):
        read(stored)


@pytest.mark.parametrize("whole", [None, [], "profile", 5])
def test_a_profile_that_is_no_object(whole: object) -> None:
    with pytest.raises(DamagedIndex, match="expected an object"):
        read(whole)


def test_the_smallest_gap_that_is_read_gives_finite_scores(measured: Profile) -> None:
    stored = Profile({"dense": ViewProfile(-1e12, 1e-12, 1.0)}).to_json()
    one = read(json.loads(json.dumps(stored))).get("dense")
    assert np.isfinite(np.float32((1.0 - one.background) / one.gap))
