"""ConstBERT against one vector per token, and against pooling without training to as many vectors.

    make experiments-constbert  (or: python experiments/constbert/run.py --data ../shared/data --work build/experiments)

All models have the same backbone, data and steps. Writes WORK/constbert.md.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from trained_models import Experiment, measure_quality, open_index, read_judged, write_table

from asterism import TokenSearch


def measure_rows(
    label: str, model: Path, settings: dict[str, Any], data: Path, work: Path, most_vectors: int = 0
) -> list[list[Any]]:
    """A row for each test set: quality, time, size."""
    rows = []
    for name, split, sample in settings["test"]:
        judged = read_judged(data / name, split, sample)
        with open_index(model, data / name, work, 4, most_vectors) as retriever:
            quality, milliseconds = measure_quality(retriever, judged, TokenSearch(method="colbert"))
            info = retriever.info()
        rows.append([label, name, quality, milliseconds, info["vectors"] / info["documents"], info["bytes"] / 1e6])
    return rows


def main() -> None:
    experiment = Experiment.from_command(__file__, __doc__)
    settings, data, work = experiment.settings, experiment.data, experiment.work
    rows: list[list[Any]] = []

    def add(found: list[list[Any]]) -> None:
        rows.extend(found)
        (work / "constbert.json").write_text(json.dumps(rows, indent=1))

    for seed in [*settings["seeds"], settings["seeds"][-1] + 1]:
        is_first = seed == settings["seeds"][0]
        common = {**settings["common"], "run.seed": seed}
        colbert = experiment.train("colbert", {**common, **settings["colbert"]})
        add(measure_rows(f"one per token, seed {seed}", colbert, settings, data, work))
        for count in settings["counts"] if is_first else [settings["headline"]]:
            given = {**common, **settings["constbert"], "model.vectors_per_document": count}
            pooled = experiment.train("constbert", given)
            add(measure_rows(f"learned pooling to {count}, seed {seed}", pooled, settings, data, work))
            if is_first:
                add(measure_rows(f"untrained pooling to {count}", colbert, settings, data, work, count))
    full = {**settings["common"], **settings["constbert"], "run.seed": settings["seeds"][0], "model.pooling": "full"}
    full["model.vectors_per_document"] = settings["headline"]
    add(
        measure_rows(
            f"full matrix to {settings['headline']}", experiment.train("constbert", full), settings, data, work
        )
    )
    table = write_table(["vectors", "collection", "nDCG@10", "ms a query", "vectors a document", "MB"], rows)
    experiment.write("constbert.md", table)


if __name__ == "__main__":
    main()
