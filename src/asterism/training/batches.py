"""Which queries and documents meet in which step: a function of the seed, so that a resumed run draws the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .examples import Example

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Part:
    """What is compared at once, over all processes: Q queries, and W documents of each query, the positive first.

    queries (Q,)        numbers of the queries
    documents (Q, W)    numbers of the passages
    excluded (Q, Q·W)   passages that do not compete for a query, because they are relevant to it too
    teacher (Q, W)      scores of a teacher, NaN where there is none
    """

    queries: Numbers
    documents: Numbers
    excluded: npt.NDArray[np.bool_]
    teacher: Floats


class BatchDrawer:
    """Draws the parts of each step."""

    def __init__(self, examples: Sequence[Example], passages: int, negatives: int, size: int, seed: int) -> None:
        """`size` queries in each part, of all processes together, at most as many as examples.

        An epoch's last queries that do not fill a part are left out.
        """
        self._examples = examples
        self._passages = passages
        self._negatives = negatives
        self._size = size
        self._seed = seed
        relevant: dict[int, set[int]] = {}
        for example in examples:
            relevant.setdefault(example.query, set()).update(example.positives)
        self._relevant = relevant

    def draw(self, number: int) -> Part:
        """The part of a number, counted from 0 over the whole run."""
        an_epoch = len(self._examples) // self._size
        epoch, place = divmod(number, an_epoch)
        order = np.random.default_rng([self._seed, epoch]).permutation(len(self._examples))
        rng = np.random.default_rng([self._seed, epoch, place])
        chosen = [self._examples[i] for i in order[place * self._size : (place + 1) * self._size]]
        documents = np.array([self._choose_documents(example, rng) for example in chosen], np.int64)
        queries = np.array([example.query for example in chosen], np.int64)
        teacher = np.array(
            [
                [example.scores.get(int(one), np.nan) for one in row]
                for example, row in zip(chosen, documents, strict=True)
            ],
            np.float32,
        )
        return Part(queries, documents, self._exclude(queries, documents), teacher)

    def _choose_documents(self, example: Example, rng: np.random.Generator) -> list[int]:
        """One positive and hard negatives; where these do not suffice, any passages."""
        positive = int(rng.choice(example.positives))
        hard = rng.permutation(example.negatives)[: self._negatives].astype(int).tolist()
        avoided = self._relevant[example.query] | set(hard)
        while len(hard) < self._negatives:
            other = int(rng.integers(self._passages))
            if other not in avoided or len(avoided) >= self._passages:
                hard.append(other)
                avoided.add(other)
        return [positive, *hard]

    def _exclude(self, queries: Numbers, documents: Numbers) -> npt.NDArray[np.bool_]:
        flat = documents.reshape(-1)
        excluded = np.zeros((len(queries), len(flat)), bool)
        for i, query in enumerate(queries):
            excluded[i] = np.isin(flat, list(self._relevant[int(query)]))
            excluded[i, i * documents.shape[1]] = False  # its own positive
        return excluded
