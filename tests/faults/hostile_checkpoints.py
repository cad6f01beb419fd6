"""Hostile folders by number: a small random checkpoint in one of all layouts, with something wrong in it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

from safetensors.numpy import load_file

from tests import layouts

from .hostile_files import damaged_bytes, grown_with_holes, special_file
from .hostile_json import another_document, changed_value, extreme_size
from .hostile_tokenizers import hostile_tokenizer
from .hostile_weights import hostile_safetensors, hostile_torch_file


def sharded(folder: Path) -> Path:
    """colbert with two files of weights."""
    layouts.colbert(folder)
    weights = load_file(str(folder / "model.safetensors"))
    (folder / "model.safetensors").unlink()
    places = {name: f"model-{number % 2}.safetensors" for number, name in enumerate(weights)}
    for file in set(places.values()):
        layouts.save_weights(folder / file, {name: weights[name] for name in weights if places[name] == file})
    layouts.write_json(folder / "model.safetensors.index.json", {"metadata": {}, "weight_map": places})
    return folder


def without_tokenizer_json(folder: Path) -> Path:
    """sentence_transformer with the vocab.txt of a BERT."""
    layouts.sentence_transformer(folder)
    words = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    (folder / "tokenizer.json").unlink()
    return folder


LAYOUTS: dict[str, Callable[[Path], Path]] = {
    made.__name__: made
    for made in (
        *(layouts.bge_m3, layouts.colbert, layouts.constbert, layouts.xtr, layouts.pylate),
        *(layouts.multi_vector_modules, layouts.sentence_transformer, layouts.full_constant_pooling),
        *(layouts.cross_encoder, layouts.emb_cross_encoder, sharded, without_tokenizer_json),
    )
}
PAIRS = ("cross_encoder", "emb_cross_encoder")
CHANGES = (
    *(special_file, changed_value, hostile_safetensors, hostile_tokenizer, hostile_torch_file, damaged_bytes),
    *(extreme_size, special_file, changed_value, hostile_tokenizer, damaged_bytes, another_document),
    *(hostile_torch_file, grown_with_holes, changed_value, hostile_tokenizer, extreme_size),
)


def make_honest(to: Path) -> dict[str, Path]:
    """One folder of each layout."""
    return {name: make(to / name) for name, make in LAYOUTS.items()}


def make_hostile(honest: dict[str, Path], number: int, to: Path) -> str:
    """Folder `number`, always the same; what is wrong with it."""
    rng = Random(number)
    layout = list(honest)[number % len(honest)]
    shutil.copytree(honest[layout], to)
    change = CHANGES[number % len(CHANGES)]
    return f"{number} {layout}: {change.__name__}: {change(to, rng)}"
