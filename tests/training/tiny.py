"""A random BERT of four layers, and pairs that it can learn: a query is made of words of its passage."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from asterism.recipes.recipe import Recipe, read_recipe
from tests import layouts

PAIRS = 120
SHORT = (
    "data.dev_share=0.15",
    "run.batch=8",
    "run.steps=8",
    "run.rate=1e-3",
    "run.evaluate_every=4",
    'run.precision="float32"',
    "run.threads=1",
)
SMALL = (*SHORT, "model.query_length=16", "model.document_length=24", "model.dimensions=16")
MINING = ("run.negatives=3", "negatives.ranking=lexical", "negatives.count=5", "negatives.depth=20")
SMALL_PAIRS = (*SHORT, *MINING, "model.length=48")


def write_model(folder: Path) -> Path:
    return layouts.sentence_transformer(folder)


def write_pairs(file: Path, count: int = PAIRS) -> Path:
    rng = np.random.default_rng(0)
    lines = []
    for number in range(count):
        words = rng.choice(layouts.WORDS, 10)
        query = f"{' '.join(rng.choice(words, 4))} {number}"
        lines.append(json.dumps({"query": query, "pos": [f"{' '.join(words)} {number}."]}))
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def make_recipe(name: str, model: Path, pairs: Path, *changes: str) -> Recipe:
    """A recipe of asterism, made small."""
    given = (f"model.backbone={model}", f"negatives.model={model}", f'data.train=["{pairs}"]')
    return read_recipe(name, (*given, *(SMALL_PAIRS if name.startswith("cross_") else SMALL), *changes))
