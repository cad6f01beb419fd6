"""What hard negatives and distillation add to ColBERT's training within the batch.

    make experiments-colbertv2  (or: python experiments/colbertv2/run.py --data ../shared/data --work build/experiments)

All models have the same backbone, steps and number of passages in a step. Negatives and teacher's scores are found
once; "without false ones" leaves out those that the teacher scores nearly as high as the right passage. Writes
results.md beside this file.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from encoded_sets import EncodedSet
from trained_models import Experiment, write_table

from asterism import TokenSearch
from asterism.training.examples import read_training_set, write_training_set


def main() -> None:
    experiment = Experiment.from_command(__file__, __doc__)
    settings, work, tests = experiment.settings, experiment.work, experiment.test_sets
    mined = experiment.mine(experiment.train_folders, settings["common"]["data.most_examples"])
    data = {"": None, "all": [mined], "true": [leave_out_false(mined, settings["margin"])]}
    figures: dict[str, dict[str, list[float]]] = {}
    for seed in settings["seeds"]:
        for row in settings["models"]:
            changes = {**settings["common"], **row["changes"], "run.seed": seed}
            model = experiment.train("colbertv2", changes, data[row["negatives"]])
            for test in tests:
                encoded = EncodedSet.encode(test, model)
                with encoded.index(work) as index:
                    quality, _ = encoded.measure(index, TokenSearch(method="colbert"))
                figures.setdefault(row["name"], {}).setdefault(test.name, []).append(quality)
            (work / "colbertv2.json").write_text(json.dumps(figures, indent=1))
    experiment.write_results("ColBERTv2's recipe: hard negatives and distillation", summarise(figures))


def leave_out_false(mined: Path, margin: float) -> Path:
    """The examples without the negatives that score above their lowest positive minus the margin."""
    file = mined.with_name(f"{mined.stem}-{margin}.jsonl")
    whole = read_training_set(mined)
    examples = []
    for example in whole.examples:
        most = min(example.scores[one] for one in example.positives) - margin
        kept = tuple(one for one in example.negatives if example.scores[one] <= most)
        scores = {one: example.scores[one] for one in (*example.positives, *kept)}
        examples.append(replace(example, negatives=kept, scores=scores))
    write_training_set(replace(whole, examples=examples), file)
    return file


def summarise(figures: dict[str, dict[str, list[float]]]) -> str:
    """A row for each model: the mean of the seeds by test set, and over all with half the seeds' difference."""
    rows: list[list[Any]] = []
    for name, by_set in figures.items():
        values = np.array(list(by_set.values()))  # (sets, seeds)
        spread = np.ptp(values.mean(axis=0)) / 2
        rows.append([name, *(float(value) for value in values.mean(axis=1)), f"{values.mean():.2f} ({spread:.2f})"])
    return write_table(["trained with", *next(iter(figures.values())), "mean"], rows)


if __name__ == "__main__":
    main()
