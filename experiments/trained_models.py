"""Shared by the experiments on trained models: train by a recipe, index, measure. Everything is kept and used again."""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tomllib

from asterism import Retriever, TokenBuild, TokenSearch, read_documents
from asterism.evaluation.datasets import EvaluationSet, read_evaluation_set
from asterism.evaluation.metrics import measure
from asterism.recipes.recipe import read_recipe
from asterism.recipes.run import run_recipe
from asterism.training.trainer import Report

MEASURE = "nDCG@10"
K = 10


@dataclass(frozen=True)
class Experiment:
    """The settings beside a script, the folder of the data, and the folder of what is made and kept."""

    settings: dict[str, Any]
    data: Path
    work: Path

    @classmethod
    def from_command(cls, script: str, description: str | None) -> Experiment:
        """By the arguments that all scripts have."""
        parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--data", type=Path, required=True)
        parser.add_argument("--work", type=Path, required=True)
        given = parser.parse_args()
        return cls(tomllib.loads(Path(script).with_name("settings.toml").read_text()), given.data, given.work)

    @property
    def train_folders(self) -> list[Path]:
        """The data that the settings name."""
        return [self.data / name for name in self.settings["train"]]

    def train(self, recipe: str, changes: dict[str, Any], data: list[Path] | None = None) -> Path:
        """A model, trained on the data that the settings name or on others, or found from an earlier run."""
        return train_model(recipe, changes, data or self.train_folders, self.work)

    def write(self, name: str, text: str) -> None:
        """Keep a result, and show it."""
        (self.work / name).write_text(text)
        print(text)


def train_model(recipe: str, changes: dict[str, Any], data: list[Path], work: Path) -> Path:
    """The model of a recipe with changes (section.name -> value), trained or found from an earlier run."""
    given = [f"{key}={json.dumps(value)}" for key, value in sorted(changes.items())]
    paths = json.dumps([str(path) for path in data])
    name = hashlib.sha256("\n".join([recipe, *given, *(path.name for path in data)]).encode()).hexdigest()[:12]
    to = work / "models" / f"{recipe}-{name}"
    if not to.exists():
        to.parent.mkdir(parents=True, exist_ok=True)
        print(f"training {to.name}: {' '.join(given)}", flush=True)
        begin = time.perf_counter()

        def report(now: Report) -> None:
            if now.score is not None:
                print(f"  step {now.step} loss {now.loss:.4f} MRR@10 {now.score:.4f}", flush=True)

        run_recipe(read_recipe(recipe, [*given, f"data.train={paths}"]), to, print, report, work / "states")
        print(f"  {time.perf_counter() - begin:.0f} s", flush=True)
    return to


def open_index(model: Path, documents: Path, work: Path, bits: int = 4, most_vectors: int = 0) -> Retriever:
    """An index of token vectors alone, made or found from an earlier run."""
    path = work / "indexes" / f"{model.name}-{documents.name}-{bits}-{most_vectors}.ast"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        build = TokenBuild.from_json({"bits": bits})
        with Retriever.create(path, model, views=["multi"], build=build, most_vectors=most_vectors) as made:
            made.add(read_documents(documents))
    return Retriever.open(path)


def read_judged(folder: Path, split: str, sample: int = 0) -> EvaluationSet:
    """The judged queries of a split, or some of them, by a hash of their ids."""
    judged = read_evaluation_set(folder, split)
    names = sorted(judged.queries, key=lambda name: hashlib.sha256(name.encode()).digest())[: sample or None]
    kept = {name: text for name, text in judged.queries.items() if name in set(names)}
    return replace(judged, queries=kept, qrels={name: judged.qrels[name] for name in kept})


def measure_quality(retriever: Retriever, judged: EvaluationSet, settings: TokenSearch) -> tuple[float, float]:
    """nDCG@10 in hundredths, and milliseconds of search a query, encoding excluded, on one thread."""
    queries = list(judged.queries.values())
    rankings = retriever.search_many(queries, K, method=settings.method, settings=settings, threads=1)
    run = {name: {hit.id: hit.score for hit in ranking} for name, ranking in zip(judged.queries, rankings, strict=True)}
    searching = sum(seconds for stage, seconds in rankings[0].timings.items() if stage != "encode")
    return 100 * float(measure(judged.qrels, run)[MEASURE].mean()), 1000 * searching


def write_table(columns: list[str], rows: list[list[Any]]) -> str:
    """Markdown; numbers with two digits."""
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    for row in rows:
        cells = [
            f"{value:.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
            for value in row
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
