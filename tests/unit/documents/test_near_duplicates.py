"""Near-duplicates: the formula by hand, and that comparing sizes first changes nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism.documents.near_duplicates import NearDuplicates, find_words, make_shingles, measure_overlap


def overlap(a: str, b: str) -> float:
    return measure_overlap(make_shingles(a), make_shingles(b))


def test_words_of_several_scripts() -> None:
    assert find_words("Straße, naïve_2 — x!") == ("strasse", "naïve_2", "x")
    assert find_words("東京tower は") == ("東", "京", "tower", "は")
    assert find_words("?!") == ()


def test_short_texts_are_compared_by_words() -> None:
    assert overlap("The dog bites.", "the DOG barks") == 2 / 4
    assert overlap("the dog bites", "the dog bites") == 1
    assert overlap("?", "!") == 0
    assert overlap("dog", "the dog " * 10) == 1 / 2


def test_long_texts_are_compared_by_runs_of_three_words() -> None:
    text = "one two three four five six seven eight nine ten eleven twelve"
    assert overlap(text, text.replace("six", "6")) == 7 / 13  # 10 runs each; three of them have the sixth word
    assert overlap(text, " ".join(reversed(text.split()))) == 0
    assert overlap(text, text.upper() + " thirteen") == 10 / 11


WORDS = st.lists(st.sampled_from("abc"), max_size=14).map(" ".join)


@given(st.lists(WORDS, min_size=2, max_size=6), st.floats(0.01, 1))
def test_near_duplicates_are_those_with_enough_overlap(passages: list[str], share: float) -> None:
    near = NearDuplicates(passages, share)
    for i, passage in enumerate(passages):
        for j, other in enumerate(passages):
            assert near.is_like_any(i, [j]) == (overlap(passage, other) >= share)
            assert near.has_words(i, find_words(other)) == (passage == other)
        assert near.is_like_any(i, range(i)) == any(overlap(passage, other) >= share for other in passages[:i])


@pytest.mark.parametrize(("share", "like"), [(0.5, True), (0.51, False)])
def test_the_share_itself_is_enough(share: float, like: bool) -> None:
    assert NearDuplicates(["a b c", "a b d"], share).is_like_any(0, [1]) is like
