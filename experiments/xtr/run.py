"""XTR against ColBERT training: MaxSim, retrieval with imputation, which tokens are retrieved, and what it costs.

    make experiments-xtr        (or: python experiments/xtr/run.py --data ../shared/data --work build/experiments)

Both models are trained on the same batches and differ in the objective alone. Writes results.md and
tokens.png beside this file.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from encoded_sets import EncodedSet
from retrieved_tokens import analyse_tokens, draw_tokens
from token_retrieval import measure_retrieval
from trained_models import Experiment, write_table

from asterism import TokenSearch


def measure_model(encoded: EncodedSet, settings: dict[str, Any], work: Path) -> dict[str, tuple[float, float]]:
    """nDCG@10 and milliseconds by search: the engine's, then retrieval alone, which is not timed."""
    searches = {
        "exact MaxSim": TokenSearch(method="exact"),
        "colbert": TokenSearch(method="colbert"),
        "xtr": TokenSearch(method="xtr", retrieved=settings["engine_retrieved"]),
    }
    with encoded.index(work) as index:
        found = {label: encoded.measure(index, search) for label, search in searches.items()}
    retrieved = measure_retrieval(encoded, settings["retrieved"])
    return {**found, **{label: (quality, math.nan) for label, quality in retrieved.items()}}


def summarise(figures: dict[str, dict[int, Any]], settings: dict[str, Any]) -> str:
    """Means over seeds: one table of quality, one of time."""
    sets = [given["name"] for given in settings["test"]]
    labels = list(next(iter(next(iter(figures.values())).values()))[sets[0]])
    parts = []
    for title, place in (
        ("nDCG@10, mean of the seeds (half their difference)", 0),
        ("milliseconds of processor time a query, one thread", 1),
    ):
        rows = []
        for model, by_seed in figures.items():
            for label in labels:
                values = np.array([[run[name][label][place] for name in sets] for run in by_seed.values()])
                if np.isnan(values).any():
                    continue
                spread = np.ptp(values.mean(axis=1)) / 2
                cells = [float(value) for value in values.mean(axis=0)]
                rows.append([model, label, *cells, f"{values.mean():.2f} ({spread:.2f})"])
        parts.append(f"### {title}\n\n{write_table(['trained as', 'search', *sets, 'mean'], rows)}")
    return "\n".join([*parts, compare_losses(figures, settings)])


def compare_losses(figures: dict[str, dict[int, Any]], settings: dict[str, Any]) -> str:
    """What each model loses if its documents are scored by retrieved tokens alone."""
    rows = []
    for model, by_seed in figures.items():
        for count in settings["retrieved"]:
            lost = [
                run[name]["exact MaxSim"][0] - run[name][f"k'={count} kth"][0]
                for run in by_seed.values()
                for name in run
            ]
            rows.append([model, count, float(np.mean(lost))])
    return (
        "### Points lost to exact MaxSim by the k' best tokens, the rest imputed (mean of sets and seeds)\n\n"
        + write_table(["trained as", "k'", "lost"], rows)
    )


def main() -> None:
    experiment = Experiment.from_command(__file__, __doc__)
    settings, work, tests = experiment.settings, experiment.work, experiment.test_sets
    figures: dict[str, dict[int, Any]] = {}
    tokens: dict[str, Any] = {}
    for name, changes in settings["models"].items():
        for seed in settings["seeds"]:
            model = experiment.train(settings["recipe"], {**settings["common"], **changes, "run.seed": seed})
            found = figures.setdefault(name, {}).setdefault(seed, {})
            for test in tests:
                encoded = EncodedSet.encode(test, model)
                found[test.name] = measure_model(encoded, settings, work)
                if seed == settings["seeds"][0] and test.name == settings["analysed"]["set"]:
                    tokens[name] = analyse_tokens(encoded, model, settings["analysed"])
                (work / "xtr.json").write_text(json.dumps(figures, indent=1))
    draw_tokens(tokens, experiment.folder / "tokens.png")
    experiment.write_results(
        "XTR: training for retrieval by tokens", summarise(figures, settings) + "\n" + describe_tokens(tokens)
    )


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
        + "\n![Shares by rank](tokens.png)\n"
        + "\n### Floating-point operations to score the candidates of a query\n\n"
        + write_table(["trained as", "k'", "MaxSim", "XTR", "times"], operations)
    )


if __name__ == "__main__":
    main()
