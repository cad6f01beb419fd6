"""ANNCUR: search by a cross-encoder within a budget of calls, on an ontology that it has never seen.

    make experiments-anncur     (or: python experiments/anncur/run.py --data ../shared/data --work build/experiments)

Cross-encoders over [CLS] and over markers ([EMB]) are trained on the other ontologies, and score every pair of the
held-out one; scores are kept, so that a second run is quick. Writes results.md and curves.png beside this file.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from curves import draw_curves
from held_out_ontology import Task, describe, prepare
from score_matrix import KnownScores, compute_matrix, count_directions, find_common_share
from searches import Searches
from trained_models import Experiment, write_table


def split_recipe(section: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The recipe of a section of the settings, and its changes."""
    return section["recipe"], {name: value for name, value in section.items() if name != "recipe"}


def examine(experiment: Experiment, name: str, task: Task, mined: Path) -> dict[str, Any]:
    """Train a cross-encoder and the dual encoder that learns from it, score all pairs, and search."""
    settings, work = experiment.settings, experiment.work
    recipe, changes = split_recipe(settings["models"][name])
    model = experiment.train(recipe, {**changes, "run.seed": settings["seed"]}, [mined])
    recipe, changes = split_recipe(settings["distilled"])
    learned = {**changes, "negatives.teacher": str(model), "run.seed": settings["seed"]}
    distilled = experiment.train(recipe, learned, [mined])
    queries, items = [*task.anchors, *task.tests], [item.full_text for item in task.items]
    print(f"{name}: {len(queries) * len(items):,} pairs", flush=True)
    folder = work / "scores" / f"{model.name}-{describe(settings)}-{settings['precision']}"
    matrix = compute_matrix(model, settings["precision"], queries, items, folder)
    rank, directions = count_directions(matrix)
    searches = Searches(task, KnownScores(matrix, queries, items), settings, work / "indexes" / f"anncur-{name}")
    return {
        "shape": list(matrix.shape),
        "rank": rank,
        "directions": directions,
        "common": find_common_share(matrix),
        "accuracy": searches.exact_accuracy,
        "figures": [asdict(figures) for figures in searches.run(distilled)],
    }


def summarise(found: dict[str, Any], settings: dict[str, Any]) -> str:
    """The ranks of both matrices; then, for each model, recall and linking accuracy."""
    parts = ["### The score matrices\n"]
    facts = ("rank", "directions", "common", "accuracy")
    rows = [[name, *one["shape"], *(one[fact] for fact in facts)] for name, one in found.items()]
    columns = ["cross-encoder", "queries", "items", "numerical rank", "directions of 99 % of the variance"]
    columns += ["% of variance common to all queries", "linking accuracy, exact"]
    parts.append(write_table(columns, rows))
    counts = settings["search"]["k"]
    parts.append(
        "### Points of recall above re-ranking, by the better of dense and lexical candidates, at equal calls\n"
    )
    parts.append(compare(found, settings))
    for name, one in found.items():
        parts.append(f"### {name}: recall of the k best of brute force, and linking accuracy, in hundredths\n")
        columns = ["method", "anchor queries", "calls", *(f"top-{k}" for k in counts), "accuracy"]
        parts.append(
            write_table(
                columns,
                [
                    [
                        each["method"],
                        each["anchors"] or "",
                        each["budget"],
                        *(each["recall"][k] for k in counts),
                        each["accuracy"],
                    ]
                    for each in one["figures"]
                ],
            )
        )
    return "\n".join(parts)


def compare(found: dict[str, Any], settings: dict[str, Any]) -> str:
    """A row for each cross-encoder, method and k; methods with anchors have the most of them."""
    budgets, most = settings["search"]["budgets"], max(settings["queries"]["anchors"])
    rows: list[list[Any]] = []
    for name, one in found.items():
        recall = {(each["method"], each["anchors"], each["budget"]): each["recall"] for each in one["figures"]}
        for method, anchors in (("anncur", most), ("adacur", most), ("axn", 0), ("axn fitted", most)):
            for k in settings["search"]["k"]:
                gains = [
                    float(
                        recall[method, anchors, budget][k]
                        - max(recall[f"rerank {first}", 0, budget][k] for first in ("dense", "lexical"))
                    )
                    for budget in budgets
                ]
                rows.append([name, method, f"top-{k}", *gains])
    return write_table(["cross-encoder", "method", "recall", *(f"{budget} calls" for budget in budgets)], rows)


def main() -> None:
    experiment = Experiment.from_command(__file__, __doc__)
    settings, work = experiment.settings, experiment.work
    task, train = prepare(experiment.data / settings["data"], settings, work)
    print(f"{len(task.items):,} items, {len(task.anchors)} anchor queries, {len(task.tests)} test queries", flush=True)
    mined = experiment.mine([train])
    found: dict[str, Any] = {}
    for name in settings["models"]:
        found[name] = examine(experiment, name, task, mined)
        (work / "anncur.json").write_text(json.dumps(found, indent=1))
    draw_curves(found, settings, experiment.folder / "curves.png")
    plots = "![Recall by the budget of calls](curves.png)\n"
    experiment.write_results("ANNCUR: search by a cross-encoder itself", f"{summarise(found, settings)}\n{plots}")


if __name__ == "__main__":
    main()
