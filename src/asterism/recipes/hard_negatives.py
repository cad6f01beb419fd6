"""Hard negatives and teacher scores, as a recipe asks for them: before the training, and again during it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from ..training.examples import Example, TrainingSet
from ..training.late_interaction import LateInteraction
from ..training.negatives import Scorer, mine_negatives, score_examples
from .model_ranking import ModelRanker
from .recipe import NegativeSettings
from .teachers import PassageIndex, load_teacher


class NegativeFinder:
    """Finds negatives among the passages of one set; its index and its teacher are made when they are first needed."""

    def __init__(self, settings: NegativeSettings, passages: Sequence[str], folder: Path) -> None:
        """Indexes are kept in `folder`."""
        self._settings = settings
        self._passages = passages
        self._folder = folder
        self._indexes: dict[str, PassageIndex] = {}

    def find(self, train: TrainingSet) -> TrainingSet:
        """The set with negatives by the ranking, or with those it has, and with the teacher's scores."""
        ranking = self._settings.ranking
        if ranking:
            return mine_negatives(train, self._open(ranking), self._settings.mining, self._teacher).set
        return score_examples(train, self._teacher) if self._teacher else train

    def refresh(self, learner: LateInteraction, train: TrainingSet) -> Sequence[Example]:
        """The examples with negatives by the model itself."""
        with ModelRanker(learner.model, learner.texts, train.queries, len(train.passages)) as ranker:
            return mine_negatives(train, ranker, self._settings.mining, self._teacher).set.examples

    def close(self) -> None:
        """Close the indexes."""
        for index in self._indexes.values():
            index.close()

    @cached_property
    def _teacher(self) -> Scorer | None:
        if not self._settings.teacher:
            return None
        return self._open("hybrid") if self._settings.teacher == "hybrid" else load_teacher(self._settings.teacher)

    def _open(self, method: str) -> PassageIndex:
        """The index of a method; a ranking and a teacher by the same method share it."""
        if method not in self._indexes:
            path = self._folder / f"{method}.ast"
            self._indexes[method] = PassageIndex(path, self._passages, method, self._settings.model)
        return self._indexes[method]
