"""How to read the scores of one index: the scale of each view and what it is worth there.

Measured without judgements: a sentence is taken out of a document, and each view looks for the rest of the document
by the sentence, among all other documents of the index (see `retriever/profiling.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..settings import VIEWS, View
from ..storage.facts import Facts
from ..storage.faults import damaged

LARGEST = 1e12
SMALLEST_GAP = 1e-12
RIDGE = 0.05
LEAST_SLOPE = 0.5
FEWEST_PAIRS = 4  # fewer say nothing about the scale of a view
PRIOR = 3  # pairs that every view is taken to have found: few pairs are weak evidence that a view is worse
HALF = 0.75  # of what the best view finds: a view that finds less is worth little, one that finds more nearly all
STEEP = 8  # how sharply its worth falls there
WEIGHT_POWER = 3  # of its worth in a view's weight: what a poor view finds is mostly what a good one found better
READ = 0.95  # of the share that the model can read of the documents: a query with a rare word is still a readable one
TRUST_POWER = 12  # how sharply trust falls below it
TOKENS = 3.0  # what token vectors weigh beside another view that finds as much: short queries need them more
DENSE_ALONE = 1.5  # what dense vectors weigh without them: sentences repeat words of their document, queries less so

Matrix = npt.NDArray[np.float64]
Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ViewProfile:
    """How one view scores.

    background  the mean score of a random pair
    gap         how far above it a sentence's own document scores
    worth       how much it finds, compared with the best view, which has 1
    found       the share of sentences whose own document scores highest in the index
    """

    background: float
    gap: float
    worth: float
    found: float = 0.0

    @classmethod
    def from_facts(cls, facts: Facts) -> ViewProfile:
        """Check and read the stored form."""
        read = cls(
            facts.number("background", LARGEST),
            facts.number("gap", LARGEST),
            facts.number("worth", 1),
            facts.number("found", 1),
        )
        if read.gap < SMALLEST_GAP or min(read.worth, read.found) < 0:
            raise damaged(facts.where, "has a gap, a worth or a share below 0")
        return read


@dataclass(frozen=True)
class Profile:
    """By view, its profile; `pairs` of sentence and document were compared when the index had `documents`.

    added            documents that had been added by then, including those that were replaced or deleted; 0 if unknown
    readable         the share of the documents' tokens that the model can read
    slope, midpoint  of the logistic function from totals to calibrated scores
    """

    views: Mapping[View, ViewProfile]
    documents: int = 0
    pairs: int = 0
    readable: float = 1.0
    slope: float = 4.0
    midpoint: float = 0.5
    added: int = 0

    def to_json(self) -> dict[str, Any]:
        """The form for the catalog."""
        return asdict(self)

    @classmethod
    def from_facts(cls, facts: Facts) -> Profile:
        """Check and read the stored form."""
        stored = facts.part("views")
        unknown = set(stored.content) - set(VIEWS)
        if unknown:
            raise damaged(stored.where, f"names {sorted(unknown)[0][:60]!r}, which is not a view")
        found = cls(
            {view: ViewProfile.from_facts(stored.part(view)) for view in VIEWS if stored.has(view)},
            facts.whole("documents"),
            facts.whole("pairs"),
            facts.number("readable", 1),
            facts.number("slope", LARGEST),
            facts.number("midpoint", LARGEST),
            facts.whole("added") if facts.has("added") else 0,
        )
        if min(found.readable, found.slope) < 0:
            raise damaged(facts.where, "has a negative number, expected none")
        return found

    def get(self, view: View) -> ViewProfile:
        """The profile of a view; a usual one if it was not measured."""
        return self.views.get(view) or UNMEASURED.views[view]

    def weigh(self, view: View) -> float:
        """The view's weight for a query that the model can read."""
        is_alone = view == "dense" and view in self.views and "multi" not in self.views
        more = TOKENS if view == "multi" else DENSE_ALONE if is_alone else 1.0
        return self.get(view).worth ** WEIGHT_POWER * more

    def trust(self, readable: float) -> float:
        """Of 1, how much to rely on the model for a query of which it can read this share."""
        return min(1.0, readable / max(READ * self.readable, 1e-9)) ** TRUST_POWER

    def calibrate(self, totals: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Totals (m,) -> (m,) from 0 to 1, in the same order."""
        exponents = np.clip(self.slope * (totals.astype(np.float64) - self.midpoint), -60, 60)
        return np.asarray(1 / (1 + np.exp(-exponents)), np.float32)


UNMEASURED = Profile(  # as with the default model on English texts
    {
        "dense": ViewProfile(0.15, 0.4, 1.0),
        "lexical": ViewProfile(0.1, 1.6, 1.0),
        "multi": ViewProfile(0.2, 0.25, 1.0),
    },
)


@dataclass
class Pairs:
    """Scores (n, n) by view: sentence i with the rest of document j, which is its own for i = j."""

    scores: Mapping[View, Matrix]
    _own: npt.NDArray[np.bool_] = field(init=False)
    _gaps: dict[View, float] = field(init=False)

    def __post_init__(self) -> None:
        """Mark the pairs that belong together."""
        self._own = np.eye(len(next(iter(self.scores.values()))), dtype=bool)
        enough = len(self._own) >= FEWEST_PAIRS
        self._gaps = {view: self._find_gap(values) for view, values in self.scores.items()} if enough else {}

    @property
    def suffice(self) -> bool:
        """Whether there are enough pairs, and a view tells documents apart."""
        return max(self._gaps.values(), default=0.0) >= SMALLEST_GAP

    def measure(self, rivals: Mapping[View, Vector], readable: float = 1.0) -> Profile:
        """Rivals (n,) by view: the best score of any other document of the index.

        Only for pairs that suffice. readable: see Profile.
        """
        found = {view: int((values[self._own] > rivals[view]).sum()) for view, values in self.scores.items()}
        best = PRIOR + max(found.values())
        views = {
            view: ViewProfile(
                self._mean_of_others(values),
                self._gaps[view] if self._gaps[view] >= SMALLEST_GAP else UNMEASURED.views[view].gap,
                judge_worth((PRIOR + found[view]) / best),
                found[view] / len(self._own),
            )
            for view, values in self.scores.items()
        }
        profile = Profile(views, pairs=len(self._own), readable=readable)
        weights = {view: profile.weigh(view) for view in views}
        total = sum(weights[view] * (self.scores[view] - one.background) / one.gap for view, one in views.items())
        total = np.asarray(total / sum(weights.values()))
        slope, midpoint = fit_logistic(total[self._own], total[~self._own])
        return replace(profile, slope=slope, midpoint=midpoint)

    def _mean_of_others(self, scores: Matrix) -> float:
        return float(scores[~self._own].mean())

    def _find_gap(self, scores: Matrix) -> float:
        """The median of the own pairs above the mean of the others; at least the others' standard deviation."""
        above = float(np.median(scores[self._own])) - self._mean_of_others(scores)
        return max(above, float(scores[~self._own].std()))


def judge_worth(share: float) -> float:
    """What a view is worth that finds this share of what the best view finds: from 0 to 1, a Hill function."""
    return float((1 + HALF**STEEP) * share**STEEP / (share**STEEP + HALF**STEEP))


def fit_logistic(right: Vector, random: Vector) -> tuple[float, float]:
    """Totals (n,) of right and (m,) of random documents -> slope and midpoint of P(right) = 1 / (1 + e^(-s(t - m))).

    Both count as equally likely beforehand. Maximum likelihood with a weak prior, by Newton's method; the slope stays
    above 0, so that the order is kept.
    """
    x = np.concatenate([right, random])
    y = np.concatenate([np.ones(len(right)), np.zeros(len(random))])
    share = np.concatenate([np.ones(len(right)), np.full(len(random), len(right) / len(random))])
    design = np.stack([x, np.ones(len(x))], axis=1)
    prior = np.array([4.0, -2.0])
    weights = prior
    for _ in range(200):
        p = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
        gradient = design.T @ (share * (p - y)) + RIDGE * (weights - prior)
        curvature = (design * (share * p * (1 - p))[:, None]).T @ design + RIDGE * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        weights = weights - step / max(1.0, float(np.abs(step).max()))  # a full step can overshoot
        if float(np.abs(step).max()) < 1e-9:
            break
    slope = max(float(weights[0]), LEAST_SLOPE)
    return slope, -float(weights[1]) / slope
