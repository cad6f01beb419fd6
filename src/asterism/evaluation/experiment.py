"""Methods of one index side by side: quality on judged queries, latency, and whether differences are significant."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..files.whole_files import check_target
from ..results.ranking import Ranking
from ..results.trec_runs import Run, stream_trec_run
from ..retriever import Retriever
from .datasets import EvaluationSet
from .metrics import MEASURES, measure
from .significance import holm, paired_randomisation

SHALLOW = 10  # a usual search: measures up to this rank, and latency
DEPTH = 1000  # measures beyond that, and runs
CHUNK = 64
WARMING = 16  # queries that are searched before the latency of a method is measured: what is first read is slow
PERCENTILES = (50, 95, 99)
MAIN = "nDCG@10"

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class MethodResult:
    """One method: each measure's values (queries,), and the milliseconds of searches for k = 10 (queries,).

    Measures up to rank 10 come from a search for 10 documents, which may do less work than one for 1,000; the others
    come from a search for 1,000. Latency is that of one query at a time on one thread, without encoding it;
    `encode_ms` is the mean time of encoding.
    """

    method: str
    values: dict[str, Floats]
    milliseconds: Floats
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

    def of(self, method: str) -> Difference:
        """The same with this one of the two methods first."""
        return self if method == self.first else Difference(self.second, self.first, -self.difference, self.p)


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
    runs: Mapping[str, Path] | None = None,
) -> list[MethodResult]:
    """Search every query with every method; `progress` is a callback that receives the number of searches so far.

    A query without a word finds nothing and counts 0; its latency is not measured.
    `runs` is method -> the file for its TREC run of searches for 1,000 documents, which is written in parts. Rankings
    are kept for no longer than a part.
    """
    files = {} if runs is None else runs
    for method in methods:
        retriever.check_method(method)  # refused now, not after minutes of work
    _check_runs(files, methods)
    refuse_other_corpus(retriever, data)
    warming = list(data.leave_out_empty().queries.values())[:WARMING]
    results: list[MethodResult] = []

    def report(count: int) -> None:
        if progress:
            progress(len(results) * len(data) + count)

    for method in methods:
        for text in warming:
            retriever.search(text, min(SHALLOW, max(1, len(retriever))), method=method)
        results.append(_evaluate_method(retriever, data, method, files.get(method), report))
    return results


def name_run(method: str) -> str:
    """The method in file names and tags: "hybrid:rrf" is hybrid-rrf, because Windows allows no colon."""
    return method.replace(":", "-")


def _check_runs(runs: Mapping[str, Path], methods: Sequence[str]) -> None:
    """Refuse files that cannot be written, a file for two methods, and one for a method that is not evaluated."""
    owners: dict[Path, str] = {}
    for method, path in runs.items():
        if method not in methods:
            raise InputError(f"runs has {method!r}, expected only methods that are evaluated: {', '.join(methods)}")
        other = owners.setdefault(Path(path), method)
        if other != method:
            raise InputError(f"the runs of {other!r} and {method!r} are both {path}, expected different files")
        check_target(path)


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
    retriever: Retriever, data: EvaluationSet, method: str, run: Path | None, report: Callable[[int], None]
) -> MethodResult:
    """Search one query at a time for the latency, then many at once; `report` counts each as half of a search."""
    documents = max(1, len(retriever))
    spent: list[float] = []
    encoding: list[float] = []

    def search_singly(texts: Sequence[str]) -> Iterator[Ranking]:
        for text in texts:
            begin = time.perf_counter()
            ranking = retriever.search(text, min(SHALLOW, documents), method=method)
            seconds = time.perf_counter() - begin
            encoding.append(ranking.timings["encode"])
            spent.append(seconds - ranking.timings["encode"])
            yield ranking

    def search_deeply(texts: Sequence[str]) -> list[Ranking]:
        return retriever.search_many(texts, min(DEPTH, documents), method=method)

    with nullcontext() if run is None else stream_trec_run(run, f"asterism-{name_run(method)}") as write:
        shallow = _measure_in_parts(data, search_singly, lambda count: report(count // 2))
        deep = _measure_in_parts(data, search_deeply, lambda count: report((len(data) + count) // 2), write)
    values = {name: shallow[name] if int(name.split("@")[1]) <= SHALLOW else deep[name] for name in MEASURES}
    return MethodResult(method, values, 1000 * np.array(spent), 1000 * float(np.mean(encoding)))


def _measure_in_parts(
    data: EvaluationSet,
    search: Callable[[Sequence[str]], Iterable[Ranking]],
    report: Callable[[int], None],
    write: Callable[[Run], None] | None = None,
) -> dict[str, Floats]:
    """Measure -> (queries,). Rankings are searched, measured and written in chunks, so that few are in memory."""
    names = list(data.queries)
    parts = []
    for start in range(0, len(names), CHUNK):
        chosen = names[start : start + CHUNK]
        run: dict[str, dict[str, float]] = {}
        asked = [name for name in chosen if data.queries[name].strip()]
        for name, ranking in zip(asked, search([data.queries[name] for name in asked]), strict=True):
            run[name] = {hit.id: hit.score for hit in ranking}
            report(start + len(run))
        parts.append(measure({name: data.qrels[name] for name in chosen}, run))
        if write is not None:
            write(run)
    return {name: np.concatenate([part[name] for part in parts]) for name in MEASURES}
