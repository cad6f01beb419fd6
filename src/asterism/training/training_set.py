"""Training examples as checked values: queries and passages are texts, examples point to them by number."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..documents.document import check_text
from ..errors import DocumentError, InputError
from ..settings import check_number, check_whole_number


@dataclass(frozen=True)
class Example:
    """A query with passages that answer it and passages that do not, by their numbers in a TrainingSet.

    positives  at least one
    negatives  best-ranked first if they were mined; none of them is a positive
    scores     passage -> score of a teacher, for all positives and negatives; empty if there is no teacher
    """

    query: int
    positives: tuple[int, ...]
    negatives: tuple[int, ...] = ()
    scores: Mapping[int, float] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Check that every passage has one role and, if there are scores, a finite score."""
        passages = (*self.positives, *self.negatives)
        if not self.positives:
            raise InputError(f"an example of query {self.query} has no positives, expected at least one")
        if len(set(passages)) < len(passages):
            raise InputError(f"an example of query {self.query} has a passage twice, expected each once: {passages}")
        if self.scores and self.scores.keys() != set(passages):
            raise InputError(
                f"an example of query {self.query} has scores of passages {sorted(self.scores)}, expected scores of "
                f"all its passages, {sorted(passages)}, or none"
            )
        if not all(math.isfinite(score) for score in self.scores.values()):
            raise InputError(f"an example of query {self.query} has a score that is not a finite number")


@dataclass(frozen=True)
class TrainingSet:
    """Examples and the texts that they point to; a passage that no example uses can become a negative.

    queries    unique texts
    passages   unique texts
    """

    queries: Sequence[str]
    passages: Sequence[str]
    examples: Sequence[Example]

    def __post_init__(self) -> None:
        """Check the texts, and that every number points to one."""
        for what, texts in (("query", self.queries), ("passage", self.passages)):
            for number, text in enumerate(texts):
                check_training_text(f"{what} {number}", "the text", text)
            if len(set(texts)) < len(texts):
                raise InputError(f"a {what} comes twice, expected unique texts: use join_training_sets to merge them")
        for number, example in enumerate(self.examples):
            _check_range(f"example {number}: query", example.query, self.queries)
            for passage in (*example.positives, *example.negatives):
                _check_range(f"example {number}: passage", passage, self.passages)

    def __len__(self) -> int:
        """Examples."""
        return len(self.examples)


class TrainingSetMaker:
    """Collects examples given as texts; equal texts get one number, in the order of their first use."""

    def __init__(self) -> None:
        """Begin without texts."""
        self._queries: dict[str, int] = {}
        self._passages: dict[str, int] = {}
        self._examples: list[Example] = []

    def add_passages(self, texts: Iterable[str]) -> None:
        """Passages that need not belong to an example."""
        for text in texts:
            self._number(text)

    def add_example(
        self,
        query: str,
        positives: Iterable[str],
        negatives: Iterable[str] = (),
        scores: Mapping[str, float] | None = None,
    ) -> None:
        """An example; a repeated text counts once."""
        self._examples.append(
            Example(
                self._queries.setdefault(query, len(self._queries)),
                tuple(dict.fromkeys(self._number(text) for text in positives)),
                tuple(dict.fromkeys(self._number(text) for text in negatives)),
                {self._number(text): score for text, score in (scores or {}).items()},
            )
        )

    def make(self) -> TrainingSet:
        """All that was added."""
        return TrainingSet(list(self._queries), list(self._passages), self._examples)

    def _number(self, passage: str) -> int:
        return self._passages.setdefault(passage, len(self._passages))


def join_training_sets(sets: Iterable[TrainingSet]) -> TrainingSet:
    """The examples of all sets, one set after the other; equal texts are merged."""
    maker = TrainingSetMaker()
    for training in sets:
        maker.add_passages(training.passages)
        _add_examples(maker, training, training.examples)
    return maker.make()


def gather_positives(training: TrainingSet) -> dict[int, frozenset[int]]:
    """Query -> the positives of all its examples: none of these passages is a negative of the query."""
    found: dict[int, frozenset[int]] = {}
    for example in training.examples:
        found[example.query] = found.get(example.query, frozenset()) | frozenset(example.positives)
    return found


def merge_by_query(training: TrainingSet) -> TrainingSet:
    """One example for each query, with the passages of all its examples and without scores.

    What is right for a query must not be counted as wrong because another line says it.
    """
    positives = gather_positives(training)
    negatives: dict[int, list[int]] = {query: [] for query in positives}
    for example in training.examples:
        negatives[example.query] += [one for one in example.negatives if one not in positives[example.query]]
    ordered: dict[int, dict[int, None]] = {query: {} for query in positives}
    for example in training.examples:
        ordered[example.query] |= dict.fromkeys(example.positives)
    examples = [Example(query, tuple(ordered[query]), tuple(dict.fromkeys(negatives[query]))) for query in positives]
    return TrainingSet(training.queries, training.passages, examples)


def split_off(training: TrainingSet, share: float, seed: int) -> tuple[TrainingSet, TrainingSet]:
    """The rest and the part that is split off: about `share` of the queries, with all of their examples.

    A hash of the query's text decides, so the choice depends neither on the order nor on other queries. Both parts keep
    all passages and have only their own queries. A part of a small set can be empty.
    """
    share = check_number("share", share, 0, 1)
    seed = check_whole_number("seed", seed, 0)
    chosen = [_draw(text, seed) < share for text in training.queries]
    rest = [example for example in training.examples if not chosen[example.query]]
    return _select(training, rest), _select(
        training, [example for example in training.examples if chosen[example.query]]
    )


def take_some(training: TrainingSet, most: int) -> TrainingSet:
    """At most so many examples, with the passages that they name alone; a hash of the query's text decides which."""
    maker = TrainingSetMaker()
    ordered = sorted(training.examples, key=lambda example: _draw(training.queries[example.query], -1))
    _add_examples(maker, training, ordered[: check_whole_number("most", most, 0)])
    return maker.make()


def check_training_text(name: str, place: str, text: object) -> None:
    """Refuse what is not a text, or only white space; `name` and `place` begin the message."""
    check_text(name, place, text)
    if isinstance(text, str) and not text.strip():
        raise DocumentError(f"{name}: {place} is empty, expected a text")


def _add_examples(maker: TrainingSetMaker, training: TrainingSet, examples: Iterable[Example]) -> None:
    """Some examples of a set, as texts."""
    for example in examples:
        maker.add_example(
            training.queries[example.query],
            [training.passages[passage] for passage in example.positives],
            [training.passages[passage] for passage in example.negatives],
            {training.passages[passage]: score for passage, score in example.scores.items()},
        )


def _draw(text: str, seed: int) -> float:
    """A number from 0 to 1, excluding 1, from a text: the same on every machine."""
    digest = hashlib.blake2b(f"{seed} {text}".encode(), digest_size=6).digest()  # 48 bits are exact in a float
    return int.from_bytes(digest, "big") / 2**48


def _select(training: TrainingSet, examples: Sequence[Example]) -> TrainingSet:
    """Some of the examples, with their queries and all passages."""
    numbers: dict[int, int] = {}
    moved = [
        Example(numbers.setdefault(example.query, len(numbers)), example.positives, example.negatives, example.scores)
        for example in examples
    ]
    return TrainingSet([training.queries[query] for query in numbers], training.passages, moved)


def _check_range(what: str, number: int, texts: Sequence[str]) -> None:
    if not 0 <= number < len(texts):
        raise InputError(f"{what} {number} does not exist, expected a number below {len(texts)}")
