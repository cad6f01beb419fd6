"""XTR against ColBERT training: MaxSim, retrieval with imputation, which tokens are retrieved, and what it costs.

    make experiments-xtr        (or: python experiments/xtr/run.py --data ../shared/data --work build/experiments)

Both models are trained on the same batches and differ in the objective alone. Writes WORK/xtr.md and WORK/xtr.png.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from retrieved_tokens import analyse_tokens, draw_plot
from trained_models import Experiment, measure_quality, open_index, read_judged, write_table

from asterism import TokenSearch


def measure_model(model: Path, settings: dict[str, Any], data: Path, work: Path) -> dict[str, dict[str, Any]]:
    """By test set: nDCG@10 and milliseconds of exact MaxSim, of ColBERT's search, and of XTR's by k' and imputation."""
    searches = {"exact": TokenSearch(method="exact"), "colbert": TokenSearch(method="colbert")}
    for count in settings["retrieved"]:
        for imputation in ("kth", "zero", "none"):
            search = {"method": "xtr", "retrieved": count, "imputation": imputation}
            searches[f"k'={count} {imputation}"] = TokenSearch.from_json(search)
    found = {}
    for name, split, sample in settings["test"]:
        judged = read_judged(data / name, split, sample)
        with open_index(model, data / name, work) as retriever:
            found[name] = {label: measure_quality(retriever, judged, search) for label, search in searches.items()}
    return found


def summarise(figures: dict[str, dict[int, Any]], settings: dict[str, Any]) -> str:
    """Means over seeds: one table of quality, one of time."""
    sets = [name for name, _, _ in settings["test"]]
    labels = list(next(iter(next(iter(figures.values())).values()))[sets[0]])
    parts = []
    for title, place in (
        ("nDCG@10, mean of the seeds (half their difference)", 0),
        ("milliseconds a query, one thread", 1),
    ):
        rows = []
        for model, by_seed in figures.items():
            for label in labels:
                values = np.array([[run[name][label][place] for name in sets] for run in by_seed.values()])
                spread = np.ptp(values.mean(axis=1)) / 2
                cells = [float(value) for value in values.mean(axis=0)]
                rows.append([model, label, *cells, f"{values.mean():.2f} ({spread:.2f})"])
        parts.append(f"### {title}\n\n{write_table(['trained as', 'search', *sets, 'mean'], rows)}")
    return "\n".join(parts)


def main() -> None:
    experiment = Experiment.from_command(__file__, __doc__)
    settings, data, work = experiment.settings, experiment.data, experiment.work
    figures: dict[str, dict[int, Any]] = {}
    tokens: dict[str, Any] = {}
    for name, changes in settings["models"].items():
        for seed in settings["seeds"]:
            model = experiment.train(settings["recipe"], {**settings["common"], **changes, "run.seed": seed})
            figures.setdefault(name, {})[seed] = measure_model(model, settings, data, work)
            (work / "xtr.json").write_text(json.dumps(figures, indent=1))
            if seed == settings["seeds"][0]:
                tokens[name] = analyse_tokens(model, data / settings["analysed"]["set"], settings["analysed"])
    draw_plot(tokens, work / "xtr.png")
    experiment.write("xtr.md", summarise(figures, settings) + "\n" + describe_tokens(tokens))


def describe_tokens(tokens: dict[str, Any]) -> str:
    """The shares at some ranks, and the operations that scoring takes."""
    ranks = [1, 5, 20, 50, 100]
    rows = [
        [name, kind, *(100 * float(values[kind][rank - 1]) for rank in ranks)]
        for name, values in tokens.items()
        for kind in ("gold", "lexical")
    ]
    operations = [
        [
            name,
            values["retrieved"],
            int(values["maxsim"]),
            int(values["xtr"]),
            f"{values['maxsim'] / values['xtr']:,.0f}",
        ]
        for name, values in tokens.items()
    ]
    return (
        "### Retrieved tokens: of a relevant document (gold), of the same letters (lexical), in hundredths\n\n"
        + write_table(["trained as", "share", *(f"rank {rank}" for rank in ranks)], rows)
        + "\n### Floating-point operations to score the candidates of a query\n\n"
        + write_table(["trained as", "k'", "MaxSim", "XTR", "times"], operations)
    )


if __name__ == "__main__":
    main()
