"""Shared by the experiments on trained models: settings, training by a recipe, tables. Models are kept."""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomllib
from encoded_sets import TestSet

from asterism.recipes.hard_negatives import NegativeFinder
from asterism.recipes.recipe import NegativeSettings, read_recipe
from asterism.recipes.run import run_recipe
from asterism.training.examples import read_training_sets, take_some, write_training_set
from asterism.training.trainer import Report


@dataclass(frozen=True)
class Experiment:
    """The folder of a script, the settings in it, the folder of the data, and the folder of what is made and kept."""

    folder: Path
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
        folder = Path(script).parent
        given.work.mkdir(parents=True, exist_ok=True)
        return cls(folder, tomllib.loads((folder / "settings.toml").read_text()), given.data, given.work)

    @property
    def train_folders(self) -> list[Path]:
        """The data that the settings name."""
        return [self.data / name for name in self.settings["train"]]

    def train(self, recipe: str, changes: dict[str, Any], data: list[Path] | None = None) -> Path:
        """A model, trained on the data that the settings name or on others, or found from an earlier run."""
        return train_model(recipe, changes, data or self.train_folders, self.work)

    def mine(self, data: list[Path], most: int = 0) -> Path:
        """The examples (at most so many; 0: all) with the hard negatives of section [mining], found once."""
        mining = self.settings["mining"]
        described = json.dumps([*(path.name for path in data), most, mining])
        folder = self.work / "mined" / hashlib.sha256(described.encode()).hexdigest()[:12]
        file = folder / f"{folder.name}.jsonl"
        if not file.exists():
            folder.mkdir(parents=True, exist_ok=True)
            whole = read_training_sets(data, "train")
            whole = take_some(whole, most) if most else whole
            finder = NegativeFinder(NegativeSettings(**mining), whole.passages, folder)
            write_training_set(finder.find(whole), file)
            finder.close()
        return file

    @property
    def test_sets(self) -> list[TestSet]:
        """The collections that the settings name."""
        return [TestSet.read(self.data, **given) for given in self.settings["test"]]

    def write_results(self, title: str, tables: str) -> None:
        """Write results.md beside the script, and show it."""
        made = f"Made by `make experiments-{self.folder.name}`; [settings.toml](settings.toml) has every setting."
        text = f"# {title}\n\n{made}\n\n{tables}"
        (self.folder / "results.md").write_text(text)
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
