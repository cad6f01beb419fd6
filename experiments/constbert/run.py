"""ConstBERT against one vector per token, and against pooling without training to as many vectors.

    make experiments-constbert  (or: python experiments/constbert/run.py --data ../shared/data --work build/experiments)

All models have the same backbone, data and steps. Writes results.md and counts.png beside this file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from encoded_sets import EncodedSet
from plots import Plot, draw_plots
from trained_models import Experiment, write_table

from asterism import TokenSearch
from asterism.representations.pooling import pool_vectors

BY_TOKEN, UNTRAINED, LEARNED = "one per token", "untrained pooling", "learned pooling"


@dataclass(frozen=True)
class Figures:
    """Of one way to make vectors: quality by collection, and the means of time, vectors and bytes over these."""

    kind: str
    seed: int
    quality: dict[str, float]
    milliseconds: float
    vectors: float
    megabytes: float

    @classmethod
    def measure(cls, kind: str, seed: int, sets: Sequence[EncodedSet], work: Path) -> Figures:
        """With an index of four bits, searched by MaxSim."""
        quality, costs = {}, []
        for encoded in sets:
            with encoded.index(work) as index:
                quality[encoded.test.name], milliseconds = encoded.measure(index, TokenSearch(method="colbert"))
                costs.append([milliseconds, index.tokens / len(index), index.bytes / 1e6])
        return cls(kind, seed, quality, *(float(value) for value in np.mean(costs, axis=0)))

    @property
    def mean(self) -> float:
        """Of the collections."""
        return float(np.mean(list(self.quality.values())))

    def to_row(self, best: float) -> list[Any]:
        """Of the table; `best` is 100 %."""
        share = f"{100 * self.mean / best:.1f} %"
        costs = [self.vectors, self.megabytes, self.milliseconds]
        return [self.kind, self.seed, *self.quality.values(), self.mean, share, *costs]


def main() -> None:
    experiment = Experiment.from_command(__file__, __doc__)
    settings, work, tests = experiment.settings, experiment.work, experiment.test_sets
    found: list[Figures] = []

    def add(kind: str, seed: int, sets: Sequence[EncodedSet]) -> None:
        found.append(Figures.measure(kind, seed, sets, work))
        (work / "constbert.json").write_text(json.dumps([asdict(one) for one in found], indent=1))

    def train_pooled(seed: int, count: int, **more: Any) -> Path:
        given = {**settings["common"], **settings["constbert"], "run.seed": seed, "model.vectors_per_document": count}
        return experiment.train("constbert", {**given, **more})

    def encode(model: Path) -> list[EncodedSet]:
        return [EncodedSet.encode(test, model) for test in tests]

    first, counts, full = settings["seeds"][0], settings["counts"], settings["full"]
    for seed in settings["seeds"]:
        sets = encode(experiment.train("colbert", {**settings["common"], **settings["colbert"], "run.seed": seed}))
        add(BY_TOKEN, seed, sets)
        for count in counts if seed == first else []:
            fewer = [replace(encoded, documents=pool_vectors(encoded.documents, count)) for encoded in sets]
            add(f"{UNTRAINED} to {count}", seed, fewer)
        for count in counts if seed == first else [settings["headline"]]:
            add(f"{LEARNED} to {count}", seed, encode(train_pooled(seed, count)))
    longer, headline = settings["longer"], settings["headline"]
    kind = f"{longer['model.document_length']} tokens, {LEARNED} to {headline}"
    add(kind, first, encode(train_pooled(first, headline, **longer)))
    add(f"full matrix to {full}", first, encode(train_pooled(first, full, **{"model.pooling": "full"})))
    draw_plots([plot_counts(found, first)], experiment.folder / "counts.png")
    names = [test.name for test in tests]
    columns = ["vectors", "seed", *names, "mean", "kept", "vectors a document", "MB", "ms a query"]
    best = {one.seed: one.mean for one in found if one.kind == BY_TOKEN}
    table = write_table(columns, [one.to_row(best[one.seed]) for one in found])
    note = "Vectors, megabytes and milliseconds (of processor time, one thread) are means of the collections.\n"
    plot = "![nDCG@10 by vectors a document](counts.png)\n"
    experiment.write_results("ConstBERT: a fixed number of vectors", f"{table}\n{note}\n{plot}")


def plot_counts(found: Sequence[Figures], seed: int) -> Plot:
    """The mean of nDCG@10 by the number of vectors."""
    own = [one for one in found if one.seed == seed]
    lines = {}
    for kind in (LEARNED, UNTRAINED, BY_TOKEN):
        chosen = sorted((one.vectors, one.mean) for one in own if one.kind.startswith(kind))
        lines[kind] = ([vectors for vectors, _ in chosen], [mean for _, mean in chosen])
    return Plot("mean nDCG@10", "vectors a document", lines, logarithmic=True)


if __name__ == "__main__":
    main()
