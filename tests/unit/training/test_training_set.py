"""Values of training: what they refuse, joining and splitting."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism.errors import InputError, SettingError
from asterism.training.examples import (
    Example,
    TrainingSet,
    gather_positives,
    join_training_sets,
    split_off,
    take_some,
)

from .sets import in_texts, training_sets


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"positives": ()}, "query 0 has no positives"),
        ({"positives": (1, 1)}, r"a passage twice, expected each once: \(1, 1\)"),
        ({"positives": (1,), "negatives": (2, 1)}, "a passage twice"),
        ({"positives": (1,), "negatives": (2,), "scores": {1: 0.5}}, r"scores of passages \[1\], expected .* \[1, 2\]"),
        ({"positives": (1,), "scores": {1: math.nan}}, "not a finite number"),
    ],
)
def test_bad_examples(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Example(0, **values)


@pytest.mark.parametrize(
    ("queries", "passages", "example", "message"),
    [
        (["q", "q"], ["a"], Example(0, (0,)), "a query comes twice"),
        (["q"], ["a", "a"], Example(0, (0,)), "a passage comes twice"),
        (["q"], ["a", " "], Example(0, (0,)), "passage 1: the text is empty"),
        (["q\0"], ["a"], Example(0, (0,)), "query 0: the text has a NUL"),
        (["q"], ["\ud800"], Example(0, (0,)), "half a surrogate pair"),
        (["q"], [3], Example(0, (0,)), "passage 0: the text is an int"),
        (["q"], ["a"], Example(1, (0,)), "example 0: query 1 does not exist, expected a number below 1"),
        (["q"], ["a"], Example(0, (0,), (1,)), "example 0: passage 1 does not exist"),
        (["q"], ["a"], Example(0, (-1,)), "example 0: passage -1 does not exist"),
    ],
)
def test_bad_sets(queries: list[str], passages: list[str], example: Example, message: str) -> None:
    with pytest.raises(InputError, match=message):
        TrainingSet(queries, passages, [example])


def test_joined_sets_share_equal_texts() -> None:
    a = TrainingSet(["q"], ["unused", "x", "y"], [Example(0, (1,), (2,), {1: 1.5, 2: -1.0})])
    b = TrainingSet(["p", "q"], ["y", "z", "x"], [Example(0, (2,)), Example(1, (0,), (1,))])
    joined = join_training_sets([a, b])
    assert joined == TrainingSet(
        ["q", "p"],
        ["unused", "x", "y", "z"],
        [Example(0, (1,), (2,), {1: 1.5, 2: -1.0}), Example(1, (1,)), Example(0, (2,), (3,))],
    )
    assert gather_positives(joined) == {0: {1, 2}, 1: {1}}


@given(st.lists(training_sets(), max_size=3))
def test_joining_changes_no_example(sets: list[TrainingSet]) -> None:
    joined = join_training_sets(sets)
    assert in_texts(joined) == [example for training in sets for example in in_texts(training)]
    assert set(joined.passages) == {text for training in sets for text in training.passages}


@given(training_sets(), st.floats(0, 1), st.integers(0, 3), st.randoms(use_true_random=False))
def test_split_off(training: TrainingSet, share: float, seed: int, chance: random.Random) -> None:
    """Every example is in one part, no query in both, whatever the order."""
    rest, part = split_off(training, share, seed)
    assert not set(rest.queries) & set(part.queries)
    assert sorted(map(str, in_texts(rest) + in_texts(part))) == sorted(map(str, in_texts(training)))
    assert rest.passages == part.passages == training.passages
    shuffled = TrainingSet(training.queries, training.passages, chance.sample(training.examples, len(training)))
    assert set(split_off(shuffled, share, seed)[1].queries) == set(part.queries)


@given(training_sets(), st.integers(0, 6), st.randoms(use_true_random=False))
def test_take_some(training: TrainingSet, most: int, chance: random.Random) -> None:
    """So many of the examples, no passage that none of them names, and fewer are a part of more."""
    some = take_some(training, most)
    assert len(some) == min(most, len(training))
    assert all(example in in_texts(training) for example in in_texts(some))
    named = {number for example in some.examples for number in (*example.positives, *example.negatives)}
    assert named == set(range(len(some.passages)))
    shuffled = TrainingSet(training.queries, training.passages, chance.sample(training.examples, len(training)))
    assert set(take_some(shuffled, most).queries) == set(some.queries)
    assert set(some.queries) <= set(take_some(training, most + 1).queries)


def test_the_share_of_a_split() -> None:
    training = TrainingSet([f"q{i}" for i in range(4000)], ["a"], [Example(i, (0,)) for i in range(4000)])
    rest, part = split_off(training, 0.1, 0)
    assert 340 < len(part) < 460  # three standard deviations
    assert len(rest) == 4000 - len(part)
    assert set(part.queries) <= set(split_off(training, 0.2, 0)[1].queries)
    assert set(part.queries) != set(split_off(training, 0.1, 1)[1].queries)
    assert [len(part) for part in split_off(training, 0, 0)] == [4000, 0]
    assert [len(part) for part in split_off(training, 1, 0)] == [0, 4000]
    with pytest.raises(SettingError, match=r"share is 2, expected a number from 0 to 1"):
        split_off(training, 2, 0)
    with pytest.raises(SettingError, match="seed is -1"):
        split_off(training, 0.5, -1)
