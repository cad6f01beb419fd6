"""Chooses which items to ask the scorer about, within a budget of calls. Items are places from 0 to n - 1."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .growing_fit import GrowingFit
from .regression import find_basis, find_slope, solve
from .sketch import Sketch, find_threshold

Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

Ask = Callable[[Places], Floats]  # the scores of places; the scorer is asked
FirstStage = Callable[[int], Places]  # the n best places by a search that is cheap, best first


@dataclass
class Asked:
    """The places that were scored, in that order, and their scores; no place is scored twice.

    eligible (n,): which places may be answers · seconds: of each stage
    """

    ask: Ask
    eligible: Mask
    calls: int
    places: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Nothing was asked yet."""
        self.candidates = self.eligible.copy()  # eligible and not asked
        self._known: dict[int, float] = {}

    def resume(self, known: Mapping[int, float], gone: int) -> None:
        """Begin with the scores of an earlier attempt, by place; it asked about `gone` others, which are deleted."""
        self.calls -= gone
        self._keep(list(known), list(known.values()))

    @property
    def left(self) -> int:
        """Calls that are left."""
        return self.calls - len(self.places)

    def score(self, places: Places) -> Floats:
        """(m,) scores of these places; the scorer is asked about those that are new, as far as the budget goes."""
        new = [place for place in dict.fromkeys(places.tolist()) if place not in self._known][: self.left]
        if new:
            with self.spend("scorer"):
                found = self.ask(np.array(new, np.int64)).tolist()
            self._keep(new, found)
        return np.array([self._known[place] for place in places.tolist() if place in self._known], np.float32)

    def choose(self, first: FirstStage, count: int) -> Places:
        """The best candidates of the first stage, at most `count`."""
        with self.spend("first stage"):
            found = first(min(len(self.places) + count, len(self.eligible)))
            return found[self.candidates[found]][:count]

    def fill(self, first: FirstStage) -> None:
        """Spend what is left on the first stage's best, and then on any candidates."""
        if self.left and self.candidates.any():
            self.score(self.choose(first, self.left))
            self.score(np.flatnonzero(self.candidates)[: self.left])

    def find_best(self, k: int) -> tuple[Places, Floats]:
        """The k best answers by their exact scores; ties by place."""
        places, scores = np.array(self.places, np.int64), np.array(self.scores, np.float32)
        places, scores = places[self.eligible[places]], scores[self.eligible[places]]
        order = np.lexsort((places, -scores))[:k]
        return places[order], scores[order]

    def _keep(self, places: list[int], scores: list[float]) -> None:
        self.places += places
        self.scores += scores
        self._known |= zip(places, scores, strict=True)
        self.candidates[places] = False

    @contextmanager
    def spend(self, stage: str) -> Iterator[None]:
        """Add the time of the block to a stage."""
        begin = time.perf_counter()
        yield
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - begin


@dataclass(frozen=True)
class ItemVectors:
    """The vectors (n, d) of all places, which places have one (n,), and short versions of many and long ones."""

    rows: npt.NDArray[np.floating]
    known: Mask
    sketch: Sketch | None = None

    @classmethod
    def prepare(cls, rows: npt.NDArray[np.floating], known: Mask) -> ItemVectors:
        """For many searches."""
        return cls(rows, known, Sketch.make(rows))

    def find_highest(self, query: Floats, allowed: Mask, count: int) -> Places:
        """Query (d,) -> the allowed places with a vector whose predicted scores are highest, best first."""
        possible = allowed & self.known
        places = self.sketch.narrow(query, possible, count) if self.sketch is not None else None
        if places is None:
            return choose_highest(self.rows @ query, possible, count)
        return places[choose_highest(self.rows[places] @ query, possible[places], count)]


@dataclass(frozen=True)
class FixedAnchors:
    """Anchor items and, for all places, what their vectors have in common with those of the anchors.

    A query's vector is a sum of the anchors' vectors, so that only this part of an item's vector counts:
    rows (n, r), r at most the number of anchors; the same products with fewer numbers.
    """

    places: Places
    vectors: npt.NDArray[np.floating]
    basis: npt.NDArray[np.float64]
    items: ItemVectors
    _solved: dict[tuple[int, float], npt.NDArray[np.float32]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def prepare(cls, places: Places, vectors: ItemVectors) -> FixedAnchors:
        """Project all vectors (n, d) on the anchors'."""
        own = np.asarray(vectors.rows[places], np.float64)
        basis = find_basis(own)
        if basis.shape[1] >= vectors.rows.shape[1]:
            return cls(places, own, np.eye(vectors.rows.shape[1]), vectors)
        projected = np.asarray(vectors.rows @ basis.astype(vectors.rows.dtype), np.float32)
        return cls(places, own, basis, ItemVectors.prepare(projected, vectors.known))

    def fit(self, scores: Floats, count: int, ridge: float) -> Floats:
        """The scores of the first `count` anchors -> the query's vector (r,) beside `items`."""
        key = (count, ridge)
        solved = self._solved.get(key)
        if solved is None:
            solved = (self.basis.T @ solve(self.vectors[:count], ridge)).astype(np.float32)
            self._solved.clear()  # the budget seldom changes
            self._solved[key] = solved  # another thread may clear it again
        return np.asarray(solved @ scores[:count])


def search_by_anchors(asked: Asked, anchors: FixedAnchors, ridge: float, first: FirstStage) -> None:
    """ANNCUR: ask about the anchors, predict all scores, and ask about the best.

    Anchors take at most half of the budget, the most telling first. They are asked about even where a filter excludes
    them as answers.
    """
    count = min(len(anchors.places), asked.calls // 2)
    scores = asked.score(anchors.places[:count])
    if count and asked.left:
        with asked.spend("solve"):
            query = anchors.fit(scores, count, ridge)
            chosen = anchors.items.find_highest(query, asked.candidates, asked.left)
        asked.score(chosen)
    asked.fill(first)


def search_by_rounds(
    asked: Asked,
    vectors: ItemVectors,
    ridge: float,
    rounds: int,
    first: FirstStage,
    prior: Floats | None = None,
    mix: float = 0.0,
) -> None:
    """ADACUR and AXN: begin with the first stage; then, in rounds, fit the query to all scores and ask about the best.

    prior (d,): the query's own vector in the space of the items; on the scale of the scores so far, `mix` of it goes
    into the fitted one.
    """
    share = max(1, -(-asked.calls // rounds))
    asked.score(asked.choose(first, share))
    fit, seen = GrowingFit(vectors.rows.shape[1], ridge), 0
    while asked.left:
        with asked.spend("solve"):
            new, scores = np.array(asked.places[seen:], np.int64), np.array(asked.scores[seen:])
            seen += len(new)
            fits = vectors.known[new]
            fit.add(vectors.rows[new[fits]], scores[fits])
            query = fit.solve()
            if prior is not None:
                slope = find_slope(fit.rows @ prior, fit.scores)
                query = np.float32(1 - mix) * query + np.float32(mix * slope) * prior
            chosen = vectors.find_highest(query, asked.candidates, min(share, asked.left))
        if not len(chosen):
            break
        asked.score(chosen)
    asked.fill(first)


def search_by_first_stage(asked: Asked, first: FirstStage) -> None:
    """Ask about the best of the first stage: the usual re-ranking. What that did not find is no answer."""
    asked.score(asked.choose(first, asked.left))


def choose_highest(values: npt.NDArray[np.floating], allowed: Mask, count: int) -> Places:
    """The allowed places with the highest values that are not -inf, best first; ties by place."""
    offered = np.where(allowed, values.astype(np.float32, copy=False), np.float32(-np.inf))
    places = np.flatnonzero((offered >= find_threshold(offered, count)) & (offered > -np.inf))
    return places[np.argsort(-offered[places], kind="stable")][:count]
