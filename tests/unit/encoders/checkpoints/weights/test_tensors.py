"""Tensors of a checkpoint: missing, of a wrong shape or type, with NaN, truncated."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

import asterism
from asterism.errors import CheckpointError
from tests import layouts

QUERY = "bert.encoder.layer.2.attention.self.query.weight"


def changed(good: Path, to: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    shutil.copytree(good, to)
    weights = load_file(str(to / "model.safetensors"))
    change(weights)
    layouts.save_weights(to / "model.safetensors", weights)
    return to


def put(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda weights: weights.update({name: value})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda weights: weights.pop(QUERY), rf"model\.safetensors: tensor '{QUERY}' is missing"),
        (put("bert.encoder.layer.9.x", np.ones(3, np.float32)), r"tensor 'bert.encoder.layer.9.x' is not part"),
        (put(QUERY, np.ones((32, 31), np.float32)), rf"'{QUERY}' has shape \(32, 31\), expected \(32, 32\)"),
        (put(QUERY, np.full((32, 32), np.nan, np.float32)), rf"'{QUERY}' has NaN"),
        (put(QUERY, np.ones((32, 32), np.int64)), rf"'{QUERY}' is int64, expected float32"),
        (lambda weights: weights.pop("linear.weight"), r"tensor 'linear.weight' is missing"),
        (put("linear.weight", np.ones((16, 30), np.float32)), r"'linear.weight' has shape \(16, 30\)"),
        (put("linear.weight", np.ones(1, np.float32)), r"'linear.weight' has shape \(1,\)"),
    ],
)
def test_tensors(good: Path, tmp_path: Path, change: Callable[[dict[str, Any]], None], message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        asterism.load_encoder(changed(good, tmp_path / "model", change))


def test_a_file_that_is_cut_while_it_is_used(tmp_path: Path) -> None:
    from asterism.encoders.checkpoints.weights.safetensors_files import read_safetensors

    file = layouts.colbert(tmp_path / "model") / "model.safetensors"
    tensor = read_safetensors(file)["linear.weight"]
    os.truncate(file, tensor.offset)
    with pytest.raises(CheckpointError, match=r"model\.safetensors"):
        tensor.read()
