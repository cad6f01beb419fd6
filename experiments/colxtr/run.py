"""Residual codes of a model trained as ColXTR: nDCG@10 and bytes at 1, 2 and 4 bits, against the vectors themselves.

    make experiments-colxtr     (or: python experiments/colxtr/run.py --data ../shared/data --work build/experiments)

Writes results.md and bits.png beside this file. The bytes of an HNSW graph over float32 vectors, with which the paper
compares, are computed: 4 bytes a dimension and 2 x 32 links of 4 bytes a vector.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from encoded_sets import EncodedSet
from plots import Plot, draw_plots
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
    names = [given["name"] for given in settings["test"]]
    rows = [mean_of_seeds(figures, name, bits) for name in names for bits in settings["bits"]]
    draw_plots([plot_bits(name, rows) for name in names], experiment.folder / "bits.png")
    table = write_table(
        ["collection", "bits", "xtr", "colbert", "MB", "smaller than HNSW"], [list(row.values()) for row in rows]
    )
    experiment.write_results("ColXTR: XTR's vectors as residual codes", f"{table}\n![nDCG@10 by bits](bits.png)\n")


def mean_of_seeds(figures: list[dict[str, Any]], name: str, bits: int) -> dict[str, Any]:
    """Quality, megabytes, and how much smaller than a graph over floats, of one collection with so many bits."""
    found = [row for row in figures if (row["set"], row["bits"]) == (name, bits)]
    size, graph = found[0]["bytes"], found[0]["vectors"] * (128 * 4 + LINKS)
    quality = {search: float(np.mean([row[search] for row in found])) for search in ("xtr", "colbert")}
    return {"set": name, "bits": bits, **quality, "MB": size / 1e6, "smaller": f"{100 * (1 - size / graph):.1f} %"}


def plot_bits(name: str, rows: list[dict[str, Any]]) -> Plot:
    """nDCG@10 by bits for both searches."""
    own = [row for row in rows if row["set"] == name]
    bits = [row["bits"] for row in own]
    lines = {search: (bits, [row[search] for row in own]) for search in ("xtr", "colbert")}
    return Plot(f"{name}, nDCG@10", "bits a dimension (16: the vectors themselves)", lines, logarithmic=True)


if __name__ == "__main__":
    main()
