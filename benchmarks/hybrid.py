"""The latency of hybrid search beside colbert: one query at a time, one thread, encoding excluded, in turn.

    make bench-hybrid          (or: python benchmarks/hybrid.py --data ../shared/data/insuranceqa_en --work .bench)

Makes the index once and keeps it. Also prints nDCG@10 of hybrid search with and without candidates that token vectors
find by themselves, which says what leaving them out costs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from asterism import HybridSearch, Retriever, TokenSearch
from asterism.evaluation.datasets import EvaluationSet, read_evaluation_set
from asterism.evaluation.metrics import measure

METHODS = ("colbert", "hybrid", "hybrid:linear", "dense", "lexical")
ROUNDS = 3
EVERY_VIEW = HybridSearch(tokens=TokenSearch())  # token vectors look for candidates too


def time_methods(retriever: Retriever, queries: list[str], k: int) -> dict[str, list[float]]:
    """Method -> milliseconds of each query, the best of several rounds; methods take turns within a query."""
    best = {method: np.full(len(queries), np.inf) for method in METHODS}
    for _ in range(ROUNDS):
        for i, query in enumerate(queries):
            for method in METHODS:
                timings = dict(retriever.search(query, k, method=method).timings)
                timings.pop("encode")
                best[method][i] = min(best[method][i], 1000 * sum(timings.values()))
    return {method: values.tolist() for method, values in best.items()}


def measure_quality(retriever: Retriever, judged: EvaluationSet, settings: HybridSearch) -> float:
    texts = list(judged.queries.values())
    rankings = retriever.search_many(texts, 10, method="hybrid", settings=settings)
    run = {name: {hit.id: hit.score for hit in found} for name, found in zip(judged.queries, rankings, strict=True)}
    return 100 * float(measure(judged.qrels, run)["nDCG@10"].mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--split", default="test")
    parser.add_argument("--queries", type=int, default=300)
    arguments = parser.parse_args()
    index = arguments.work / f"{arguments.data.name}.ast"
    if not index.exists():
        command = Path(sys.executable).with_name("asterism")
        subprocess.run([command, "index", arguments.data, "--to", index], check=True)
    judged = read_evaluation_set(arguments.data, arguments.split)
    queries = list(judged.queries.values())[: arguments.queries]
    with Retriever.open(index) as retriever:
        retriever.search_many(queries[:20], method="hybrid")  # opens and verifies
        spent = time_methods(retriever, queries, 10)
        quality = {
            "nDCG@10, candidates of dense and lexical": measure_quality(retriever, judged, retriever.fusion),
            "nDCG@10, candidates of every view": measure_quality(retriever, judged, EVERY_VIEW),
        }
    medians = {method: float(np.median(values)) for method, values in spent.items()}
    for method, value in medians.items():
        print(f"{method:15s} p50 {value:7.3f} ms   {value / medians['colbert']:.2f} x colbert")
    for name, value in quality.items():
        print(f"{name}: {value:.2f}")
    (arguments.work / "hybrid.json").write_text(json.dumps({"p50_ms": medians, **quality}, indent=1))


if __name__ == "__main__":
    main()
