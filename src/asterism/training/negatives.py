"""Hard negatives from any ranking, and scores of any teacher."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ..documents.near_duplicates import NearDuplicates, find_words
from ..errors import InputError, SettingError
from ..settings import LARGEST, Settings, check_number, check_whole_number
from .training_set import Example, TrainingSet, gather_positives

BATCH = 256  # queries that are ranked together
LEAST_SHARE = 0.01

Progress = Callable[[int], None]


class Ranker(Protocol):
    """Gives the k best passages for each query, by number, best first: an index of the set's passages."""

    def __call__(self, queries: Sequence[str], k: int, /) -> Sequence[Sequence[int]]:
        """(queries,) lists of at most k numbers."""


class Scorer(Protocol):
    """A teacher: higher is better, on a scale of its own. A PairScorer is one."""

    def score(self, query: str, texts: Sequence[str], /) -> npt.NDArray[np.float32]:
        """(texts,) one score for each text."""


@dataclass(frozen=True)
class Mining(Settings):
    """Which passages of a ranking become negatives.

    count       negatives of an example: the best-ranked that are left
    depth       ranks that are looked at
    skip        of these, the best ranks that are left out: the most likely false negatives
    margin      a passage is left out as a false negative if its teacher score is above the smallest score of the
                example's positives minus this (None: no passage is)
    duplicates  a passage is left out if at least this share of its three-word runs and a positive's are the same
                (Jaccard; of its words, if one of them is short)
    """

    count: int = 7
    depth: int = 50
    skip: int = 0
    margin: float | None = None
    duplicates: float = 0.9

    def __post_init__(self) -> None:
        """Check every value."""
        for name, least in (("count", 1), ("depth", 1), ("skip", 0)):
            object.__setattr__(self, name, check_whole_number(name, getattr(self, name), least))
        if self.count > self.depth - self.skip:
            raise SettingError(
                f"count is {self.count}, but only {max(self.depth - self.skip, 0)} ranks are looked at "
                f"(depth {self.depth} minus skip {self.skip}), expected at most that: raise depth"
            )
        if self.margin is not None:
            object.__setattr__(self, "margin", check_number("margin", self.margin, 0, LARGEST))
        object.__setattr__(self, "duplicates", check_number("duplicates", self.duplicates, LEAST_SHARE, 1))


@dataclass(frozen=True)
class Mined:
    """A set with new negatives, and what happened on the way to them.

    without               examples for which no negative was found
    dropped_as_false      passages left out by the margin, until an example had enough negatives
    dropped_as_duplicate  passages left out as near-duplicates, until an example had enough negatives
    """

    set: TrainingSet
    without: int
    dropped_as_false: int
    dropped_as_duplicate: int


def mine_negatives(
    training: TrainingSet,
    rank: Ranker,
    mining: Mining,
    scorer: Scorer | None = None,
    progress: Progress | None = None,
) -> Mined:
    """Replace the negatives of all examples by the best-ranked passages that are not right answers.

    Never a negative: a positive of any example with the same query, a near-duplicate of one, the query itself. With a
    scorer, all positives and negatives get its scores; without one, there are none. `progress` receives the number of
    examples so far.
    """
    if mining.margin is not None and scorer is None:
        raise SettingError(f"margin is {mining.margin:g}, but there is no scorer, expected one: give one, or no margin")
    by_query: dict[int, list[int]] = {}
    for number, example in enumerate(training.examples):
        by_query.setdefault(example.query, []).append(number)
    miner = _Miner(training, mining, scorer)
    examples = list(training.examples)
    done = 0
    waiting = iter(by_query)
    while batch := list(islice(waiting, BATCH)):
        for query, ranking in zip(batch, _rank(training, rank, batch, mining.depth), strict=True):
            for number in by_query[query]:
                examples[number] = miner.mine(examples[number], ranking[mining.skip :])
            done += len(by_query[query])
            if progress:
                progress(done)
    without = sum(not example.negatives for example in examples)
    made = TrainingSet(training.queries, training.passages, examples)
    return Mined(made, without, miner.dropped_as_false, miner.dropped_as_duplicate)


def score_examples(training: TrainingSet, scorer: Scorer, progress: Progress | None = None) -> TrainingSet:
    """The same examples with a teacher's scores for all positives and negatives."""
    examples = []
    for done, example in enumerate(training.examples, 1):
        numbers = (*example.positives, *example.negatives)
        examples.append(replace(example, scores=_score(training, scorer, example.query, numbers)))
        if progress:
            progress(done)
    return TrainingSet(training.queries, training.passages, examples)


class _Miner:
    """Chooses negatives, one example at a time; counts what it leaves out."""

    def __init__(self, training: TrainingSet, mining: Mining, scorer: Scorer | None) -> None:
        self._training = training
        self._mining = mining
        self._scorer = scorer
        self._positives = gather_positives(training)
        self._duplicates = NearDuplicates(training.passages, mining.duplicates)
        self.dropped_as_false = 0
        self.dropped_as_duplicate = 0

    def mine(self, example: Example, ranking: Sequence[int]) -> Example:
        """The example with negatives from a ranking; only as many passages are scored as are needed."""
        candidates = self._list_candidates(example.query, ranking)
        scores = self._score(example.query, example.positives)
        least = min(scores.values(), default=0.0)
        negatives: list[int] = []
        while block := list(islice(candidates, self._mining.count - len(negatives))):
            found = self._score(example.query, block)
            right = [number for number in block if self._is_negative(found, number, least)]
            self.dropped_as_false += len(block) - len(right)
            negatives += right
            scores |= {number: found[number] for number in right if found}
        return Example(example.query, example.positives, tuple(negatives), scores)

    def _list_candidates(self, query: int, ranking: Sequence[int]) -> Iterator[int]:
        """Passages in the order of the ranking, without positives, their near-duplicates and the query."""
        positives = self._positives[query]
        asked = find_words(self._training.queries[query])
        for number in dict.fromkeys(ranking):
            if number in positives or self._duplicates.has_words(number, asked):
                continue
            if self._duplicates.is_like_any(number, positives):
                self.dropped_as_duplicate += 1
                continue
            yield number

    def _is_negative(self, scores: dict[int, float], number: int, least: float) -> bool:
        return self._mining.margin is None or scores[number] <= least - self._mining.margin

    def _score(self, query: int, passages: Sequence[int]) -> dict[int, float]:
        return {} if self._scorer is None else _score(self._training, self._scorer, query, passages)


def _score(training: TrainingSet, scorer: Scorer, query: int, passages: Sequence[int]) -> dict[int, float]:
    """Passage -> score."""
    text = training.queries[query]
    scores = np.asarray(scorer.score(text, [training.passages[passage] for passage in passages]), np.float64)
    if scores.shape != (len(passages),):
        raise InputError(f"the scorer gave scores of shape {scores.shape} for {len(passages)} texts, expected one each")
    if not np.isfinite(scores).all():
        raise InputError(f"the scorer gave a score that is not finite for query {text[:60]!r}, expected finite numbers")
    return dict(zip(passages, scores.tolist(), strict=True))


def _rank(training: TrainingSet, rank: Ranker, batch: Sequence[int], depth: int) -> list[list[int]]:
    """(batch,) at most `depth` passages for each query of a batch."""
    most = len(training.passages)
    rankings = rank([training.queries[query] for query in batch], min(depth, most))
    if len(rankings) != len(batch):
        raise InputError(f"the ranker gave {len(rankings)} rankings for {len(batch)} queries, expected one for each")
    found = [[operator.index(number) for number in ranking][:depth] for ranking in rankings]
    for query, ranking in zip(batch, found, strict=True):
        wrong = next((number for number in ranking if not 0 <= number < most), None)
        if wrong is not None:
            text = training.queries[query][:60]
            raise InputError(f"the ranker gave passage {wrong} for query {text!r}, expected numbers below {most}")
    return found
