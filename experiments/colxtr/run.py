"""Residual codes of a model trained as ColXTR: nDCG@10 and bytes at 1, 2 and 4 bits, against the vectors themselves.

    make experiments-colxtr     (or: python experiments/colxtr/run.py --data ../shared/data --work build/experiments)

Writes results.md beside this file. The bytes of an HNSW graph over float32 vectors, with which the paper compares, are
computed: 4 bytes a dimension and 2 x 32 links of 4 bytes a vector.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from encoded_sets import EncodedSet
from trained_models import Experiment, write_table

from asterism import TokenSearch

LINKS = 2 * 32 * 4  # bytes a vector


def main() -> None:
    experiment = Experiment.from_command(__file__, __doc__)
    settings, work, tests = experiment.settings, experiment.work, experiment.test_sets
    searches = {
        "xtr": TokenSearch(method="xtr", retrieved=settings["retrieved"]),
        "colbert": TokenSearch(method="colbert"),
    }
    figures: list[dict[str, Any]] = []
    for seed in settings["seeds"]:
        model = experiment.train(settings["recipe"], {**settings["common"], "run.seed": seed})
        for test in tests:
            encoded = EncodedSet.encode(test, model)
            for bits in settings["bits"]:
                with encoded.index(work, bits) as index:
                    row = {"seed": seed, "set": test.name, "bits": bits, "bytes": index.bytes, "vectors": index.tokens}
                    row |= {label: encoded.measure(index, search)[0] for label, search in searches.items()}
                figures.append(row)
                (work / "colxtr.json").write_text(json.dumps(figures, indent=1))
    experiment.write_results("ColXTR: XTR's vectors as residual codes", summarise(figures, settings))


def summarise(figures: list[dict[str, Any]], settings: dict[str, Any]) -> str:
    """A row for each set and number of bits, the mean of the seeds."""
    rows = []
    for name in [given["name"] for given in settings["test"]]:
        for bits in settings["bits"]:
            found = [row for row in figures if (row["set"], row["bits"]) == (name, bits)]
            size, vectors = found[0]["bytes"], found[0]["vectors"]
            graph = vectors * (128 * 4 + LINKS)
            quality = [float(np.mean([row[search] for row in found])) for search in ("xtr", "colbert")]
            rows.append([name, bits, *quality, size / 1e6, f"{100 * (1 - size / graph):.1f} %"])
    return write_table(["collection", "bits", "xtr", "colbert", "MB", "smaller than HNSW"], rows)


if __name__ == "__main__":
    main()
