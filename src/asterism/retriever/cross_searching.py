"""Searches an index by a scorer: within a budget of calls, by exact scores."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..collection.collection import Collection
from ..collection.snapshot import Snapshot, positions
from ..encoders.loading import load_pair_scorer
from ..errors import SettingError
from ..factorised.fitting import append_ones
from ..factorised.pairs import PairTable
from ..factorised.rounds import (
    Asked,
    FirstStage,
    FixedAnchors,
    Floats,
    ItemVectors,
    Places,
    search_by_anchors,
    search_by_first_stage,
    search_by_rounds,
)
from ..factorised.scorers import CheckedScorer, Scorer
from ..factorised.table import ScoreTable
from ..results import Ranking
from ..search.plan import SearchPlan
from ..settings import CrossSearch, check_whole_number
from ..storage.faults import damaged
from ..views.eligible import Mask
from ..views.hits import SearchHits
from .checks import check_kind, check_query
from .cross_fitting import gather_dense
from .cross_scorers import load_described
from .cross_tables import CrossTables
from .search_runner import SearchRunner, SearchSettings


@dataclass(frozen=True)
class Prepared:
    """What the searches of one state share: the vectors of all its places, and the anchors among them."""

    vectors: ItemVectors
    anchors: FixedAnchors
    ridge: float


@dataclass(frozen=True)
class Question:
    """A query, who scores its answers, how, and the ordinary search that finds the first candidates."""

    query: str
    scorer: CheckedScorer
    settings: CrossSearch
    plan: SearchPlan


def read_request(
    method: str | None, settings: SearchSettings | CrossSearch, depth: int
) -> tuple[CrossSearch, SearchSettings]:
    """The arguments of Retriever.search: what the scorer does, and the settings of the ordinary search before it."""
    if isinstance(settings, CrossSearch):
        if method not in (None, "cross"):
            raise SettingError(f"method is {method!r}, but settings is a CrossSearch: name it there, as `first`")
        return settings, None
    calls = check_whole_number("depth", depth, 1)
    if method == "cross":
        check_kind("settings", settings, CrossSearch | None, "CrossSearch(...)")
        return CrossSearch(calls=calls), None
    return CrossSearch(method="rerank", calls=calls, first=method), settings


class _Vanished(Exception):
    """A document was deleted while the search ran, which then begins again with the newest state."""


class CrossSearcher:
    """The searches by a scorer in one index, with the tables that it has."""

    def __init__(self, collection: Collection, runner: SearchRunner, tables: CrossTables) -> None:
        """Nothing is read before the first search."""
        self._collection = collection
        self._runner = runner
        self._tables = tables
        self._guard = threading.Lock()
        self._scorers: dict[str | None, Scorer] = {}
        self._prepared: tuple[Snapshot, dict[str, Any]] | None = None

    def search(
        self,
        query: str,
        k: int,
        scorer: CheckedScorer,
        settings: CrossSearch,
        filter: Mapping[str, Any] | None = None,
        first: SearchSettings = None,
        offset: int = 0,
    ) -> Ranking:
        """The k best of what was scored, after the first `offset`, by exact scores; at most settings.calls in all.

        first: settings of the ordinary search that finds the first candidates.
        """
        check_query(query)
        skipped = check_whole_number("offset", offset, 0)
        wanted = check_whole_number("k", k, 1) + skipped
        question = Question(query, scorer, settings, self._runner.plan(settings.first, first))
        begin = time.perf_counter()
        known: dict[int, float] = {}  # by document number: a search that is repeated goes on with them
        answer: list[Asked] = []

        def search(snapshot: Snapshot, eligible: Mask | None) -> SearchHits:
            asked = self._make_asked(question, snapshot, eligible, known)
            self._run(asked, question, snapshot, eligible)
            answer[:] = [asked]
            return SearchHits.from_rows([asked.find_best(wanted)])

        while True:
            with suppress(_Vanished):
                found = self._collection.find(search, filter)[0]
                break
        seconds = answer[0].seconds
        seconds["other"] = time.perf_counter() - begin - sum(seconds.values())
        return Ranking.from_scores(query, settings.method, found.documents, seconds, len(known), skipped)

    def uses(self, tables: CrossTables) -> bool:
        """Whether these tables are the same as its own."""
        return self._tables.states == tables.states

    def load_scorer(self, model: str | None = None) -> Scorer:
        """The cross-encoder of the anchor scores; `model`: where it is now. Any model, if there are no scores."""
        with self._guard:
            if model not in self._scorers:
                self._scorers[model] = self._load_scorer(model)
            return self._scorers[model]

    def _load_scorer(self, model: str | None) -> Scorer:
        if self._tables.made_of is not None:
            return load_described(self._tables.made_of, self._collection.path, model)
        if model is None:
            raise self._refuse_without_scores()
        return load_pair_scorer(model, precision="int8")

    def _make_asked(
        self, question: Question, snapshot: Snapshot, eligible: Mask | None, known: dict[int, float]
    ) -> Asked:
        def ask(places: Places) -> Floats:
            numbers = snapshot.numbers[places].tolist()
            with self._collection.reading() as reader:
                documents = reader.documents(numbers)
            if len(documents) < len(numbers):
                if self._collection.snapshot() is snapshot:  # they were not deleted
                    raise damaged(self._collection.path, "has segments with documents that its catalog lacks")
                raise _Vanished
            scores = question.scorer.score(question.query, [documents[number].full_text for number in numbers])
            known.update(zip(numbers, scores.tolist(), strict=True))
            return scores

        asked = Asked(ask, np.array(snapshot.kept if eligible is None else eligible, bool), question.settings.calls)
        before = positions(snapshot.numbers, sorted(known)).tolist()
        asked.resume({place: known[int(snapshot.numbers[place])] for place in before}, len(known) - len(before))
        return asked

    def _run(self, asked: Asked, question: Question, snapshot: Snapshot, eligible: Mask | None) -> None:
        method, rounds = question.settings.method, question.settings.rounds
        if method != "rerank" and asked.left >= int(asked.candidates.sum()):  # everything can be scored
            asked.score(np.flatnonzero(asked.candidates))
            return
        with asked.spend("first stage"):
            encoded = self._runner.encode([question.query], question.plan)

        def first(count: int) -> Places:
            hits = question.plan.search(snapshot, encoded, count, eligible, 1)
            found: Places = hits.ids[0][np.isfinite(hits.scores[0])]  # a document without words is no hit
            return found

        if method == "rerank":
            search_by_first_stage(asked, first)
        elif method == "axn" and snapshot.dense is not None:
            self._search_dense(asked, question, snapshot, first)
        else:
            with asked.spend("prepare"):
                prepared = self._prepare(snapshot)
            if method == "anncur":
                search_by_anchors(asked, prepared.anchors, prepared.ridge, first)
            else:
                search_by_rounds(asked, prepared.vectors, prepared.ridge, rounds, first)

    def _search_dense(self, asked: Asked, question: Question, snapshot: Snapshot, first: FirstStage) -> None:
        """AXN over the dense vectors of the index, fitted to the scorer where they were."""
        settings, prior = question.settings, None
        with asked.spend("prepare"):
            vectors = self._keep(snapshot, "dense", lambda: _gather_dense(snapshot, self._tables.pairs))
            if settings.mix:
                dense = self._runner.encode([question.query], self._runner.plan("dense", None)).dense
                prior = None if dense is None else np.append(dense[0], np.float32(0))
        search_by_rounds(asked, vectors, settings.ridge, settings.rounds, first, prior, settings.mix)

    def _refuse_without_scores(self) -> SettingError:
        return SettingError(
            f"{self._collection.path} has no scores of anchor queries: build them (asterism cross build), use the "
            "method axn over dense vectors, or re-rank an ordinary search"
        )

    def _prepare(self, snapshot: Snapshot) -> Prepared:
        table = self._tables.scores
        if table is None:
            raise self._refuse_without_scores()
        found: Prepared = self._keep(snapshot, "cross", lambda: _gather_scores(snapshot, table))
        return found

    def _keep(self, snapshot: Snapshot, name: str, make: Any) -> Any:
        """What was made for this state; made again for another."""
        with self._guard:
            if self._prepared is None or self._prepared[0] is not snapshot:
                self._prepared = (snapshot, {})
            kept = self._prepared[1]
            if name not in kept:
                kept[name] = make()
            return kept[name]


class KeptSearcher:
    """The searcher of an index; a new one when its tables have changed."""

    def __init__(self, collection: Collection, runner: SearchRunner) -> None:
        """None was made yet."""
        self._collection, self._runner = collection, runner
        self._kept: CrossSearcher | None = None

    def get(self, tables: CrossTables) -> CrossSearcher:
        """The searcher for these tables."""
        if self._kept is None or not self._kept.uses(tables):
            self._kept = CrossSearcher(self._collection, self._runner, tables)
        return self._kept


def _gather_scores(snapshot: Snapshot, table: ScoreTable) -> Prepared:
    """The rows of the table by place; they are verified, once."""
    table.verify()
    at = np.searchsorted(table.numbers, snapshot.numbers)
    known = at < len(table.numbers)
    known[known] = table.numbers[at[known]] == snapshot.numbers[known]
    if known.all() and len(at) == len(table.numbers):
        rows = np.asarray(table.read(), np.float32)
    else:
        rows = np.zeros((len(at), table.width), np.float32)
        rows[known] = table.read()[at[known]]
    vectors = ItemVectors.prepare(rows, known)
    anchors = positions(snapshot.numbers, np.array(table.state.anchors, np.int64))
    anchors = anchors[snapshot.kept[anchors]]  # a deleted document cannot be asked about
    return Prepared(vectors, FixedAnchors.prepare(anchors, vectors), table.state.ridge)


def _gather_dense(snapshot: Snapshot, pairs: PairTable | None) -> ItemVectors:
    """The dense vectors by place, with a last dimension of 1; where they were fitted, the fitted ones."""
    rows = append_ones(gather_dense(snapshot))
    if pairs is not None and len(pairs.numbers):
        pairs.verify()
        if pairs.vectors.shape[1] != rows.shape[1]:
            raise damaged(pairs.folder, f"has vectors of {pairs.vectors.shape[1]} numbers, expected {rows.shape[1]}")
        there = np.isin(pairs.numbers, snapshot.numbers)
        rows[positions(snapshot.numbers, pairs.numbers)] = pairs.vectors[there]
    return ItemVectors.prepare(rows, np.ones(len(rows), bool))
