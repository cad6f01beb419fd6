"""Hard negatives: what is left out, in which order the rest is taken, and which scores are kept."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism import load_pair_scorer
from asterism.documents.near_duplicates import make_shingles, measure_overlap
from asterism.errors import InputError, SettingError
from asterism.training.examples import Example, TrainingSet
from asterism.training.negatives import Mined, Mining, Scorer, mine_negatives, score_examples

from ... import layouts
from .sets import in_texts, training_sets

QUERY = "which dog barks"
PASSAGES = ["the dog barks", "the dog barks!", "a cat", "Which dog barks?", "two birds", "one fish", "my horse"]
TRAINING = TrainingSet([QUERY, "other"], PASSAGES, [Example(0, (0,), (6,)), Example(1, (5,)), Example(0, (2,))])


class Table:
    """A teacher with a score for each text, whatever the query; it counts what it is asked."""

    def __init__(self, scores: dict[str, float]) -> None:
        self._scores = scores
        self.asked = 0

    def score(self, query: str, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.asked += len(texts)
        return np.array([self._scores[text] for text in texts], np.float32)


def rank_in_order(queries: Sequence[str], k: int) -> list[list[int]]:
    """The passages as they are numbered."""
    return [list(range(k)) for _ in queries]


def rank_by_query(queries: Sequence[str], k: int, passages: int) -> list[list[int]]:
    """A ranking that depends on the query's text only."""
    return [random.Random(query).sample(range(passages), k) for query in queries]


def test_the_best_ranked_that_are_no_answers() -> None:
    """Left out for the first query: its positives 0 and 2, also those of the other example; 1, like 0; 3, the query."""
    seen: list[int] = []
    mined = mine_negatives(TRAINING, rank_in_order, Mining(count=2), progress=seen.append)
    assert [example.negatives for example in mined.set.examples] == [(4, 5), (0, 1), (4, 5)]
    assert [example.scores for example in mined.set.examples] == [{}] * 3
    assert (mined.without, mined.dropped_as_false, mined.dropped_as_duplicate) == (0, 0, 2)
    assert (mined.set.queries, mined.set.passages) == (TRAINING.queries, TRAINING.passages)
    assert seen == [2, 3]


def test_ranks_that_are_looked_at() -> None:
    """`skip` and `depth` count all ranks; an example may find fewer negatives, or none."""
    mined = mine_negatives(TRAINING, rank_in_order, Mining(count=2, depth=5, skip=1))
    assert [example.negatives for example in mined.set.examples] == [(4,), (1, 2), (4,)]
    mined = mine_negatives(TRAINING, rank_in_order, Mining(count=2, depth=3))
    assert [example.negatives for example in mined.set.examples] == [(), (0, 1), ()]
    assert mined.without == 2


def test_a_ranker_may_give_more_or_less_and_repeat() -> None:
    def rank(queries: Sequence[str], k: int) -> list[list[int]]:
        return [[4, 4, 5, 4, 6, 3, 2, 1, 0], []]

    mined = mine_negatives(TRAINING, rank, Mining(count=3, depth=4))
    assert [example.negatives for example in mined.set.examples] == [(4, 5), (), (4, 5)]


SCORES = dict(zip(PASSAGES, [5.0, 4.0, 3.0, 2.0, 4.0, 2.5, 1.0], strict=True))


def test_false_negatives_by_the_teachers_margin() -> None:
    """A negative scores at most the positive's 5, 2.5 or 3, minus 1."""
    teacher = Table(SCORES)
    mined = mine_negatives(TRAINING, rank_in_order, Mining(count=1, margin=1.0), teacher)
    assert [example.negatives for example in mined.set.examples] == [(4,), (6,), (6,)]
    assert [example.scores for example in mined.set.examples] == [{0: 5, 4: 4}, {5: 2.5, 6: 1}, {2: 3, 6: 1}]
    assert mined.dropped_as_false == 5 + 2
    assert teacher.asked == 3 + 1 + 6 + 3  # the positives, and candidates until there is one negative


def test_the_margin_is_below_the_smallest_positive() -> None:
    training = TrainingSet(["q"], PASSAGES, [Example(0, (0, 5))])
    for margin, kept in ((0.0, (3, 6)), (0.5, (3, 6)), (0.6, (6,)), (1.6, ())):
        mined = mine_negatives(training, rank_in_order, Mining(margin=margin), Table(SCORES))
        assert mined.set.examples[0].negatives == kept
        assert mined.set.examples[0].scores.keys() == {0, 5, *kept}


def test_scores_without_a_margin() -> None:
    mined = mine_negatives(TRAINING, rank_in_order, Mining(count=2), Table(SCORES))
    assert mined.set.examples[0] == Example(0, (0,), (4, 5), {0: 5.0, 4: 4.0, 5: 2.5})
    assert mined.dropped_as_false == 0


def test_scores_of_existing_negatives() -> None:
    seen: list[int] = []
    scored = score_examples(TRAINING, Table(SCORES), seen.append)
    assert scored.examples == [
        Example(0, (0,), (6,), {0: 5, 6: 1}),
        Example(1, (5,), (), {5: 2.5}),
        Example(0, (2,), (), {2: 3}),
    ]
    assert seen == [1, 2, 3]


def test_a_cross_encoder_is_a_teacher(tmp_path: Path) -> None:
    teacher: Scorer = load_pair_scorer(layouts.cross_encoder(tmp_path / "model"))
    scored = score_examples(TRAINING, teacher)
    expected = teacher.score(QUERY, ["the dog barks", "my horse"])
    assert [scored.examples[0].scores[number] for number in (0, 6)] == pytest.approx(expected.tolist())


def mine_by_query(training: TrainingSet, mining: Mining) -> Mined:
    return mine_negatives(training, lambda queries, k: rank_by_query(queries, k, len(training.passages)), mining)


MININGS = st.builds(
    lambda count, skip, more, share: Mining(count=count, skip=skip, depth=count + skip + more, duplicates=share),
    st.integers(1, 4),
    st.integers(0, 3),
    st.integers(0, 4),
    st.floats(0.3, 1),
)


@given(training_sets(), MININGS)
def test_a_negative_is_no_answer(training: TrainingSet, mining: Mining) -> None:
    mined = mine_by_query(training, mining)
    right: dict[str, set[str]] = {}
    for query, positives, _, _ in in_texts(training):
        right.setdefault(query, set()).update(positives)
    for query, _, negatives, _ in in_texts(mined.set):
        assert len(negatives) <= mining.count
        for negative in negatives:
            assert negative != query
            assert negative not in right[query]
            overlaps = [measure_overlap(make_shingles(negative), make_shingles(other)) for other in right[query]]
            assert max(overlaps) < mining.duplicates
    assert mined.without == sum(not negatives for _, _, negatives, _ in in_texts(mined.set))


@given(training_sets(), MININGS, st.randoms(use_true_random=False))
def test_the_order_of_examples_does_not_matter(training: TrainingSet, mining: Mining, chance: random.Random) -> None:
    order = chance.sample(range(len(training)), len(training))
    shuffled = TrainingSet(training.queries, training.passages, [training.examples[number] for number in order])
    mined, again = mine_by_query(training, mining), mine_by_query(shuffled, mining)
    assert again.set.examples == [mined.set.examples[number] for number in order]
    assert again.dropped_as_duplicate == mined.dropped_as_duplicate


@given(training_sets(), MININGS)
def test_mining_again_changes_nothing(training: TrainingSet, mining: Mining) -> None:
    """Negatives that were there before have no influence."""
    mined = mine_by_query(training, mining)
    assert mine_by_query(mined.set, mining) == mined


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"count": 0}, "count is 0, expected a whole number from 1"),
        ({"depth": 1.5}, r"depth is 1\.5"),
        ({"skip": -1}, "skip is -1"),
        ({"depth": 10, "skip": 4}, r"count is 7, but only 6 ranks are looked at \(depth 10 minus skip 4\)"),
        ({"skip": 60}, "only 0 ranks"),
        ({"margin": -1}, "margin is -1, expected a number from 0"),
        ({"margin": float("nan")}, "margin is nan"),
        ({"duplicates": 0}, r"duplicates is 0, expected a number from 0\.01 to 1"),
        ({"margins": 1}, "no setting 'margins': did you mean 'margin'"),
    ],
)
def test_bad_settings(values: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Mining(**values)


def test_a_margin_needs_a_teacher() -> None:
    with pytest.raises(SettingError, match="margin is 1, but there is no scorer"):
        mine_negatives(TRAINING, rank_in_order, Mining(margin=1))


@pytest.mark.parametrize(
    ("rankings", "message"),
    [
        ([[0]], "1 rankings for 2 queries"),
        ([[0], [7]], "passage 7 for query 'other', expected numbers below 7"),
        ([[-1], [0]], f"passage -1 for query '{QUERY}'"),
    ],
)
def test_bad_rankings(rankings: list[list[int]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        mine_negatives(TRAINING, lambda queries, k: rankings, Mining())


@pytest.mark.parametrize(
    ("scores", "message"),
    [([[1.0]], r"shape \(1, 1\) for 1 texts"), ([np.nan], "a score that is not finite for query")],
)
def test_bad_scores(scores: list[Any], message: str) -> None:
    class Broken:
        def score(self, query: str, texts: Sequence[str]) -> npt.NDArray[np.float32]:
            return np.array(scores, np.float32)

    with pytest.raises(InputError, match=message):
        score_examples(TrainingSet(["q"], ["a"], [Example(0, (0,))]), Broken())
