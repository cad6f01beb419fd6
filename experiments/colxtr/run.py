"""Residual codes of a model trained as ColXTR: nDCG@10 and bytes at 1, 2 and 4 bits, against the vectors themselves.

    make experiments-colxtr     (or: python experiments/colxtr/run.py --data ../shared/data --work build/experiments)

Writes WORK/colxtr.md. The bytes of an HNSW graph over float32 vectors, with which the paper compares, are computed:
4 bytes a dimension and 2 x 32 links of 4 bytes a vector.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from trained_models import Experiment, measure_quality, open_index, read_judged, write_table

from asterism import TokenSearch

LINKS = 2 * 32 * 4  # bytes a vector


def main() -> None:
    experiment = Experiment.from_command(__file__, __doc__)
    settings, data, work = experiment.settings, experiment.data, experiment.work
    searches = {
        "xtr": TokenSearch(method="xtr", retrieved=settings["retrieved"]),
        "colbert": TokenSearch(method="colbert"),
    }
    figures: list[dict[str, Any]] = []
    for seed in settings["seeds"]:
        model = experiment.train(settings["recipe"], {**settings["common"], "run.seed": seed})
        for name, split, sample in settings["test"]:
            judged = read_judged(data / name, split, sample)
            for bits in settings["bits"]:
                with open_index(model, data / name, work, bits) as retriever:
                    info = retriever.info()
                    row = {"seed": seed, "set": name, "bits": bits, "bytes": info["bytes"], "vectors": info["vectors"]}
                    row |= {label: measure_quality(retriever, judged, search)[0] for label, search in searches.items()}
                figures.append(row)
                (work / "colxtr.json").write_text(json.dumps(figures, indent=1))
    experiment.write("colxtr.md", summarise(figures, settings))


def summarise(figures: list[dict[str, Any]], settings: dict[str, Any]) -> str:
    """A row for each set and number of bits, the mean of the seeds."""
    rows = []
    for name, _, _ in settings["test"]:
        for bits in settings["bits"]:
            found = [row for row in figures if (row["set"], row["bits"]) == (name, bits)]
            size, vectors = found[0]["bytes"], found[0]["vectors"]
            graph = vectors * (128 * 4 + LINKS)
            quality = [float(np.mean([row[search] for row in found])) for search in ("xtr", "colbert")]
            rows.append([name, bits, *quality, size / 1e6, f"{100 * (1 - size / graph):.1f} %"])
    return write_table(["collection", "bits", "xtr", "colbert", "MB", "smaller than HNSW"], rows)


if __name__ == "__main__":
    main()
