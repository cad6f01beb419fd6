"""ConstBERT against one vector per token, and against pooling without training to as many vectors.

    make experiments-constbert  (or: python experiments/constbert/run.py --data ../shared/data --work build/experiments)

All models have the same backbone, data and steps. Writes results.md beside this file.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from encoded_sets import EncodedSet
from trained_models import Experiment, write_table

from asterism import TokenSearch
from asterism.representations.pooling import pool_vectors


def measure_row(label: str, encoded: EncodedSet, work: Path) -> list[Any]:
    """Quality, time, size."""
    with encoded.index(work) as index:
        quality, milliseconds = encoded.measure(index, TokenSearch(method="colbert"))
        return [label, encoded.test.name, quality, milliseconds, index.tokens / len(index), index.bytes / 1e6]


def main() -> None:
    experiment = Experiment.from_command(__file__, __doc__)
    settings, work, tests = experiment.settings, experiment.work, experiment.test_sets
    rows: list[list[Any]] = []

    def add(label: str, encoded: EncodedSet) -> None:
        rows.append(measure_row(label, encoded, work))
        (work / "constbert.json").write_text(json.dumps(rows, indent=1))

    def train_pooled(seed: int, count: int, **more: Any) -> Path:
        given = {**settings["common"], **settings["constbert"], "run.seed": seed, "model.vectors_per_document": count}
        return experiment.train("constbert", {**given, **more})

    first, headline = settings["seeds"][0], settings["headline"]
    for seed in settings["seeds"]:
        colbert = experiment.train("colbert", {**settings["common"], **settings["colbert"], "run.seed": seed})
        for encoded in (EncodedSet.encode(test, colbert) for test in tests):
            add(f"one per token, seed {seed}", encoded)
            for count in settings["counts"] if seed == first else []:
                fewer = replace(encoded, documents=pool_vectors(encoded.documents, count))
                add(f"untrained pooling to {count}", fewer)
        for count in settings["counts"] if seed == first else [headline]:
            model = train_pooled(seed, count)
            for test in tests:
                add(f"learned pooling to {count}, seed {seed}", EncodedSet.encode(test, model))
    model = train_pooled(first, settings["full"], **{"model.pooling": "full"})
    for test in tests:
        add(f"full matrix to {settings['full']}", EncodedSet.encode(test, model))
    table = write_table(["vectors", "collection", "nDCG@10", "ms a query", "vectors a document", "MB"], rows)
    experiment.write_results("ConstBERT: a fixed number of vectors", table)


if __name__ == "__main__":
    main()
