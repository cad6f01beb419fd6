"""Sizes that a file announces: checked against what it holds before anything is done with them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import asterism
from asterism.encoders.checkpoints.checkpoint import UnwrittenTransformer
from asterism.encoders.checkpoints.weights.files import open_weights
from asterism.errors import CheckpointError
from tests import layouts
from tests.faults.hostile_json import DEEP, RAW, write

SIZES = [-1, 0, 10**8, 10**9, 10**12, 10**30, 1.5, "12", None, True, [], RAW + "NaN", RAW + "1e999", RAW + DEEP]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    return {"bert": layouts.colbert(folder / "bert"), "t5": layouts.xtr(folder / "t5")}


@pytest.mark.parametrize("value", SIZES, ids=lambda value: f"{value!s:.20}")
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *[("bert", name) for name in ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size")],
        *[("bert", name) for name in ("vocab_size", "max_position_embeddings", "layer_norm_eps")],
        *[("t5", name) for name in ("num_layers", "d_model", "num_heads", "d_kv", "d_ff", "vocab_size")],
        *[("t5", name) for name in ("relative_attention_num_buckets", "relative_attention_max_distance")],
    ],
)
def test_sizes(models: dict[str, Path], tmp_path: Path, kind: str, name: str, value: Any) -> None:
    if (name == "layer_norm_eps" and value in (0, None)) or (name.startswith("relative") and value is None):
        return  # may be
    shutil.copytree(models[kind], tmp_path / "model")
    content = json.loads((tmp_path / "model" / "config.json").read_text())
    write(tmp_path / "model" / "config.json", content | {name: value})
    with pytest.raises(CheckpointError, match=r"config\.json|expected"):
        asterism.load_encoder(tmp_path / "model")


def test_lengths_of_an_architecture_that_is_not_known(models: dict[str, Path]) -> None:
    weights, file = open_weights(models["bert"]), Path("config.json")
    config = {"model_type": "x", "vocab_size": 100, "hidden_size": 32}
    assert UnwrittenTransformer(config, weights, file).most_tokens is None
    assert UnwrittenTransformer(config | {"max_position_embeddings": 77}, weights, file).most_tokens == 77


def test_sizes_of_an_architecture_that_is_not_known(models: dict[str, Path], tmp_path: Path) -> None:
    for name, value in (("vocab_size", 10**12), ("hidden_size", 10**9), ("num_hidden_layers", 10**8)):
        folder = shutil.copytree(models["bert"], tmp_path / name)
        content = json.loads((folder / "config.json").read_text())
        write(folder / "config.json", content | {"model_type": "mamba", name: value})
        with pytest.raises(CheckpointError, match=f"{name} is {value}, expected at most .*, as in the weights"):
            asterism.load_encoder(folder)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("doc_maxlen", 10**9, "but the model has 256 positions"),
        ("query_maxlen", RAW + "1e999", "query_maxlen is inf, expected a whole number"),
        ("query_maxlen", -5, "query_maxlen is -5, expected a whole number"),
    ],
)
def test_lengths(models: dict[str, Path], tmp_path: Path, name: str, value: Any, message: str) -> None:
    shutil.copytree(models["bert"], tmp_path / "model")
    content = json.loads((tmp_path / "model" / "artifact.metadata").read_text())
    write(tmp_path / "model" / "artifact.metadata", content | {name: value})
    with pytest.raises(CheckpointError, match=message):
        asterism.load_encoder(tmp_path / "model")
