"""Weights of the views from your own judgements: chosen on some queries, measured on others."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..retriever import Retriever
from ..settings import VIEWS, View
from .datasets import EvaluationSet
from .experiment import refuse_other_corpus
from .significance import paired_randomisation

STEPS = 20  # weights are multiples of a twentieth, and add up to 1
FOLDS = 5
RANK = 10
CHUNK = 32
RESAMPLED = 2000
FEWEST = 2 * FOLDS
CHANCE = 0.05  # gains with a p-value from here on may be chance

Floats = npt.NDArray[np.float64]
Weights = tuple[float, float, float]


@dataclass(frozen=True)
class Tuning:
    """The weights that all queries choose, and what such weights gain on queries that did not choose them.

    before, after: nDCG@10 (queries,) with the weights so far, and with cross-validated ones; interval: the mean gain's,
    95 %, by resampling queries, with each fold's weights as they are; p: the p-value of the gain (paired
    randomisation). The folds choose their weights from queries that they share, so gains are not quite independent: a
    test measures how often noise passes.
    """

    weights: Weights
    before: Floats
    after: Floats
    interval: tuple[float, float]
    p: float

    @property
    def gain(self) -> float:
        """Mean of after - before."""
        return float((self.after - self.before).mean())

    @property
    def helps(self) -> bool:
        """Whether there is a gain that is hardly chance."""
        return self.gain > 0 and self.p < CHANCE


@dataclass(frozen=True)
class Judged:
    """One query's candidates: shares (views, m) with weights of 1, gains (m,), and the best possible DCG."""

    shares: Floats
    gains: Floats
    ideal: float

    def ndcg(self, weights: Floats) -> Floats:
        """Weights (n, views) -> (n,)."""
        if not self.ideal:
            return np.zeros(len(weights))
        order = np.argsort(-(weights @ self.shares), axis=1, kind="stable")[:, :RANK]
        return np.asarray((self.gains[order] / _compute_discounts(order.shape[1])).sum(axis=1) / self.ideal, np.float64)


def tune(
    retriever: Retriever, data: EvaluationSet, seed: int = 7, progress: Callable[[int], None] | None = None
) -> Tuning:
    """Cross-validate in five folds; `progress` is a callback that receives the number of queries so far."""
    views = [view for view in VIEWS if view in retriever.views]
    if len(views) < 2:
        raise InputError(f"{retriever.path} has the view {', '.join(views)} alone, expected several: nothing to weigh")
    data = data.leave_out_empty()
    if len(data) < FEWEST:
        raise InputError(f"{len(data)} queries have a relevant document, expected at least {FEWEST}: judge more")
    refuse_other_corpus(retriever, data)
    queries = _judge_queries(retriever, data, views, progress)
    grid = _make_grid(len(views))
    values = np.array([query.ndcg(grid) for query in queries])  # (queries, weights)
    folds = _assign_folds(len(queries), seed)
    after = np.empty(len(queries))
    for fold in range(FOLDS):
        after[folds == fold] = values[folds == fold][:, _find_best(values[folds != fold])]
    now = np.array([[dict(zip(VIEWS, retriever.weights, strict=True))[view] for view in views]])
    before = np.array([query.ndcg(now)[0] for query in queries])
    chosen = dict(zip(views, grid[_find_best(values)], strict=True))
    dense, lexical, multi = (float(chosen.get(view, 0.0)) for view in VIEWS)
    interval = _resample_interval(after - before, seed)
    return Tuning((dense, lexical, multi), before, after, interval, paired_randomisation(after, before))


def _judge_queries(
    retriever: Retriever, data: EvaluationSet, views: Sequence[View], progress: Callable[[int], None] | None
) -> list[Judged]:
    names, texts = list(data.queries), list(data.queries.values())
    found: list[Judged] = []
    for start in range(0, len(names), CHUNK):
        for name, (ids, shares) in zip(
            names[start : start + CHUNK], retriever.shares(texts[start : start + CHUNK]), strict=True
        ):
            found.append(_judge_query(ids, [shares[view] for view in views], data.qrels[name]))
        if progress:
            progress(len(found))
    return found


def _judge_query(ids: Sequence[str], shares: Sequence[npt.NDArray[np.float32]], judged: Mapping[str, int]) -> Judged:
    gains = np.array([max(0, judged.get(id, 0)) for id in ids], np.float64)
    best = np.sort([max(0, value) for value in judged.values()])[::-1][:RANK]
    return Judged(np.array(shares, np.float64), gains, float((best / _compute_discounts(len(best))).sum()))


def _compute_discounts(count: int) -> Floats:
    return np.log2(np.arange(2, count + 2, dtype=np.float64))


def _make_grid(views: int) -> Floats:
    """(n, views): all weights in steps of 1 / STEPS that add up to 1."""
    rows = [row for row in itertools.product(range(STEPS + 1), repeat=views) if sum(row) == STEPS]
    return np.array(rows, np.float64) / STEPS


def _assign_folds(queries: int, seed: int) -> npt.NDArray[np.int64]:
    """(queries,): the fold of each query; the sizes of folds differ by one at most."""
    return np.random.default_rng(seed).permutation(queries) % FOLDS


def _find_best(values: Floats) -> int:
    """(queries, weights) -> the weights with the best mean."""
    return int(values.mean(axis=0).argmax())


def _resample_interval(gains: Floats, seed: int) -> tuple[float, float]:
    """Gains (queries,) -> the middle 95 % of the means over resampled queries."""
    chosen = np.random.default_rng(seed).integers(0, len(gains), (RESAMPLED, len(gains)))
    low, high = np.percentile(gains[chosen].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)
