"""Methods of one index side by side: quality on judged queries, latency, and whether differences are significant."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..retriever import Retriever
from .datasets import EvaluationSet
from .metrics import measure
from .significance import holm, paired_randomisation

SHALLOW = 10  # a usual search: measures up to this rank, and latency
DEPTH = 1000  # measures beyond that, and runs
CHUNK = 64
PERCENTILES = (50, 95, 99)
MAIN = "nDCG@10"


@dataclass(frozen=True)
class MethodResult:
    """One method: each measure's values (queries,), the milliseconds of searches for k = 10 (queries,), and a run.

    Measures up to rank 10 come from a search for 10 documents, which may do less work than one for 1,000; the others
    and the run come from a search for 1,000. Latency is that of one query at a time on one thread, without encoding
    it; `encode_ms` is the mean time of encoding.
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


def list_methods(retriever: Retriever) -> list[str]:
    """The methods that the index has the views for."""
    views = retriever.views
    single = [view for view in ("dense", "lexical") if view in views]
    tokens = ["exact", "colbert", "xtr"] if "multi" in views else []
    return [*tokens, *single, *(["hybrid"] if len(views) > 1 else [])]


def evaluate(
    retriever: Retriever,
    data: EvaluationSet,
    methods: Sequence[str],
    progress: Callable[[int], None] | None = None,
) -> list[MethodResult]:
    """Search every query with every method; `progress` is a callback that receives the number of searches so far."""
    for method in methods:
        retriever.check_method(method)  # refused now, not after minutes of work
    refuse_other_corpus(retriever, data)
    results, done = [], 0
    for method in methods:
        result = _evaluate_method(retriever, data, method, progress, done)
        done += len(data.queries)
        results.append(result)
    return results


def refuse_other_corpus(retriever: Retriever, data: EvaluationSet) -> None:
    """Refuse judgements if the index has none of the judged documents."""
    judged = {document for judgements in data.qrels.values() for document in judgements}
    if not any(document in retriever for document in judged):
        raise InputError(
            f"none of the {len(judged):,} judged documents is in {retriever.path}: index that corpus first"
        )


def compare_methods(results: Sequence[MethodResult]) -> list[Difference]:
    """Compare every pair of methods."""
    pairs = [(a, b) for i, a in enumerate(results) for b in results[i + 1 :]]
    values = [paired_randomisation(a.values[MAIN], b.values[MAIN]) for a, b in pairs]
    return [
        Difference(a.method, b.method, float((a.values[MAIN] - b.values[MAIN]).mean()), p)
        for (a, b), p in zip(pairs, holm(values), strict=True)
    ]


def _evaluate_method(
    retriever: Retriever, data: EvaluationSet, method: str, progress: Callable[[int], None] | None, done: int
) -> MethodResult:
    names, texts = list(data.queries), list(data.queries.values())
    documents = max(1, len(retriever))
    shallow: dict[str, dict[str, float]] = {}
    spent, encoding = [], []
    for name, text in data.queries.items():
        begin = time.perf_counter()
        ranking = retriever.search(text, min(SHALLOW, documents), method=method)
        seconds = time.perf_counter() - begin
        encoding.append(ranking.timings["encode"])
        spent.append(seconds - ranking.timings["encode"])
        shallow[name] = {hit.id: hit.score for hit in ranking}
        if progress:
            progress(done + len(shallow) // 2)
    deep: dict[str, dict[str, float]] = {}
    for start in range(0, len(texts), CHUNK):
        part = slice(start, start + CHUNK)
        rankings = retriever.search_many(texts[part], min(DEPTH, documents), method=method)
        deep.update({n: {hit.id: hit.score for hit in r} for n, r in zip(names[part], rankings, strict=True)})
        if progress:
            progress(done + (len(shallow) + len(deep)) // 2)
    values = measure(data.qrels, deep) | {
        name: found for name, found in measure(data.qrels, shallow).items() if int(name.split("@")[1]) <= SHALLOW
    }
    return MethodResult(method, deep, values, 1000 * np.array(spent), 1000 * float(np.mean(encoding)))
