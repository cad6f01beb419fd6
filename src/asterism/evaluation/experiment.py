"""Methods of one index side by side: quality by judgements, latency, and whether differences mean anything."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..retriever import Retriever
from ..settings import Method
from .datasets import EvaluationSet
from .metrics import measure
from .significance import holm, paired_randomisation

DEPTH = 1000
TIMED = 200  # queries whose latency is measured
CHUNK = 64
PERCENTILES = (50, 95, 99)
MAIN = "nDCG@10"


@dataclass(frozen=True)
class MethodResult:
    """One method: its run, each measure's values (queries,), and the milliseconds of searches for k = 10 (timed,).

    Latency is one query at a time on one thread, the encoding of the query not included; `encode_ms` is its mean.
    """

    method: str
    run: dict[str, dict[str, float]]
    values: dict[str, npt.NDArray[np.float64]]
    milliseconds: npt.NDArray[np.float64]
    encode_ms: float

    def means(self) -> dict[str, float]:
        """Measure -> mean over the queries."""
        return {name: float(values.mean()) for name, values in self.values.items()}

    def latency(self) -> dict[str, float]:
        """Percentiles of the milliseconds."""
        return {f"p{share}_ms": float(np.percentile(self.milliseconds, share)) for share in PERCENTILES}


@dataclass(frozen=True)
class Difference:
    """Two methods by nDCG@10: the mean difference, and its p-value (paired randomisation, Holm over all pairs)."""

    first: str
    second: str
    difference: float
    p: float


def evaluate(
    retriever: Retriever,
    data: EvaluationSet,
    methods: Sequence[Method],
    progress: Callable[[int], None] | None = None,
) -> list[MethodResult]:
    """Every query with every method; `progress` is told how many searches are done."""
    judged = {document for judgements in data.qrels.values() for document in judgements}
    if not any(document in retriever for document in judged):
        raise InputError(
            f"none of the {len(judged):,} judged documents is in {retriever.path}: index that corpus first"
        )
    results, done = [], 0
    for method in methods:
        result = _run(retriever, data, method, progress, done)
        done += len(data.queries)
        results.append(result)
    return results


def differences(results: Sequence[MethodResult]) -> list[Difference]:
    """Every pair of methods."""
    pairs = [(a, b) for i, a in enumerate(results) for b in results[i + 1 :]]
    values = [paired_randomisation(a.values[MAIN], b.values[MAIN]) for a, b in pairs]
    return [
        Difference(a.method, b.method, float((a.values[MAIN] - b.values[MAIN]).mean()), p)
        for (a, b), p in zip(pairs, holm(values), strict=True)
    ]


def _run(
    retriever: Retriever, data: EvaluationSet, method: Method, progress: Callable[[int], None] | None, done: int
) -> MethodResult:
    names, texts = list(data.queries), list(data.queries.values())
    depth = max(1, min(DEPTH, len(retriever)))
    run: dict[str, dict[str, float]] = {}
    for start in range(0, len(texts), CHUNK):
        part = slice(start, start + CHUNK)
        for name, ranking in zip(names[part], retriever.search_many(texts[part], depth, method=method), strict=True):
            run[name] = {hit.id: hit.score for hit in ranking}
        if progress:
            progress(done + len(run))
    spent, encoding = [], []
    for text in texts[:TIMED]:
        begin = time.perf_counter()
        ranking = retriever.search(text, min(10, depth), method=method)
        seconds = time.perf_counter() - begin
        encoding.append(ranking.timings["encode"])
        spent.append(seconds - ranking.timings["encode"])
    return MethodResult(method, run, measure(data.qrels, run), 1000 * np.array(spent), 1000 * float(np.mean(encoding)))
