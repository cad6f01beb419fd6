"""The randomisation test against brute force, and Holm's correction against its definition."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism.errors import InputError
from asterism.evaluation import significance
from asterism.evaluation.significance import holm, paired_randomisation

TENTHS = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=1, max_size=9)
P_VALUES = st.lists(st.floats(0, 1), max_size=8)


def enumerated(differences: Sequence[Fraction]) -> float:
    """All signs of all differences, zeros among them, without rounding."""
    seen = abs(sum(differences))
    sums = [
        abs(sum(sign * difference for sign, difference in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    return sum(value >= seen for value in sums) / len(sums)


@given(TENTHS)
def test_exact_for_few_queries(pairs: list[tuple[int, int]]) -> None:
    """Tenths: many sums are equal but for rounding."""
    p = paired_randomisation([a / 10 for a, _ in pairs], [b / 10 for _, b in pairs])
    assert p == pytest.approx(enumerated([Fraction(a - b, 10) for a, b in pairs]), abs=1e-15)


@pytest.mark.parametrize("shift", [0.0, 0.2, 0.5])
def test_random_signs_come_near_the_enumeration(monkeypatch: pytest.MonkeyPatch, shift: float) -> None:
    """12 differences by random signs, within five standard errors."""
    generator = np.random.default_rng(3)
    a, b = generator.normal(shift, 1, 12), np.zeros(12)
    exact = paired_randomisation(a, b)
    assert exact == enumerated([Fraction(value) for value in a])
    monkeypatch.setattr(significance, "MOST_ENUMERATED", 0)
    drawn = paired_randomisation(a, b, rounds=100_000)
    assert drawn == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / 100_000))


def test_zero_differences_do_not_count() -> None:
    a = np.array([0.5, 0.2, 0.9, 0.4])
    b = np.array([0.1, 0.3, 0.2, 0.2])
    same = np.full(5000, 0.7)
    assert paired_randomisation(np.append(a, same), np.append(b, same)) == paired_randomisation(a, b)


def test_never_zero_and_at_most_one() -> None:
    worse, better = np.zeros(200), np.ones(200)
    assert paired_randomisation(worse, better, rounds=99) == 0.01
    assert paired_randomisation(worse, worse) == 1.0
    assert paired_randomisation(np.tile([0, 1], 100), np.tile([1, 0], 100)) == 1.0


def test_two_sided_and_repeatable() -> None:
    generator = np.random.default_rng(5)
    a, b = generator.random((2, 80))
    assert paired_randomisation(a, b) == paired_randomisation(b, a) == paired_randomisation(a, b)
    assert paired_randomisation(a, b, seed=8) != paired_randomisation(a, b, seed=7)


@pytest.mark.parametrize("values", [1, 777, 10_000])
def test_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch, values: int) -> None:
    generator = np.random.default_rng(6)
    a, b = generator.random((2, 50))
    whole = paired_randomisation(a, b, rounds=500)
    monkeypatch.setattr(significance, "CHUNK_VALUES", values)
    assert paired_randomisation(a, b, rounds=500) == whole


def test_level_is_kept() -> None:
    """Without a difference, p is at most 0.1 in about a tenth of the cases."""
    generator = np.random.default_rng(7)
    below = sum(paired_randomisation(*generator.random((2, 30)), rounds=399) <= 0.1 for _ in range(400))
    assert 20 <= below <= 62  # 40 expected, standard deviation 6


@pytest.mark.parametrize(
    ("a", "b", "rounds", "message"),
    [
        ([0.1, 0.2], [0.1], 10, r"shapes \(2,\) and \(1,\), expected \(queries,\) twice"),
        ([], [], 10, r"shapes \(0,\) and \(0,\)"),
        ([[0.1]], [[0.1]], 10, r"shapes \(1, 1\)"),
        ([np.nan], [0.1], 10, r"NaN or infinite"),
        ([0.1], [np.inf], 10, r"NaN or infinite"),
        ([0.1], [0.2], 0, r"rounds is 0, expected a whole number of at least 1"),
        ([0.1], [0.2], 2.5, r"rounds is 2\.5"),
    ],
)
def test_bad_input(a: list[float], b: list[float], rounds: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        paired_randomisation(a, b, rounds=rounds)


def test_holm_worked_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(P_VALUES, st.floats(0.001, 0.999))
def test_holm_rejects_what_the_steps_reject(p_values: list[float], level: float) -> None:
    """The procedure itself: reject the smallest while p <= level / (number left)."""
    rejected = set()
    for left, place in zip(
        range(len(p_values), 0, -1), sorted(range(len(p_values)), key=p_values.__getitem__), strict=True
    ):
        if p_values[place] * left > level:
            break
        rejected.add(place)
    corrected = holm(p_values)
    assert {place for place, p in enumerate(corrected) if p <= level} == rejected
    assert all(p <= new <= 1 for p, new in zip(p_values, corrected, strict=True))


@pytest.mark.parametrize("p_values", [[0.5, 1.1], [-0.1], [float("nan")], [[0.1]]])
def test_holm_bad_input(p_values: list[float]) -> None:
    with pytest.raises(InputError, match="expected a list of numbers from 0 to 1"):
        holm(p_values)
