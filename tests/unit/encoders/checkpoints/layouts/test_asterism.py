"""Asterism's own layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import asterism
from asterism.errors import AsterismError, CheckpointError
from tests import layouts
from tests.faults.hostile_json import write


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "format 2, expected 1"),
        ({"backbone": {"folder": 5}}, "5"),
        ({"backbone": {"model": 5}}, "'5' is neither a folder, nor a known model"),
        ({"backbone": None}, "backbone is None"),
        ({"extra": 1}, "section 'extra'"),
        ({"dense": {"pooling": "Mean", "layers": []}}, "pooling is 'Mean', expected cls or mean"),
        ({"dense": {"pooling": "cls", "layers": [], "norm": 1}}, "dense has 'norm'"),
        (
            {"dense": {"pooling": "cls", "layers": [{"linear": "constant"}]}},
            r"has shape \(64, 192\), expected \(64, 32\)",
        ),
        ({"lexical": {"layer": {"linear": "projection"}, "dropped": []}}, "has 16 rows, expected 1"),
        ({"dense": {"pooling": "cls", "layers": ["unit"]}}, "'unit' is not a layer"),
        ({"lexical": None}, "'lexical.bias' is not used"),
        ({"query": {"lenght": 3}}, "'lenght' is not a token rule"),
    ],
)
def test_our_own_layout(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    folder = layouts.full_constant_pooling(tmp_path / "model")
    content = json.loads((folder / "asterism.json").read_text())
    layouts.write_json(folder / "asterism.json", content | change)
    with pytest.raises(AsterismError, match=message):
        asterism.load_encoder(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": {"length": 32, "prompt": "x" * 10**5}}, "a prompt of 100000 characters"),
        ({"query": {"length": 32, "prompt": 5}}, "prompt is 5, expected a string"),
        ({"query": {"length": 32, "windows": 5}}, "windows is 5, expected true or false"),
        ({"query": 10**12}, "the rules of a side are 1000000000000"),
        ({"dense": {"pooling": "cls", "layers": ["unit_length"] * 10**5}}, "expected a list of at most 16"),
        ({"dense": 3}, "dense is 3, expected an object"),
        ({"document": {"length": 13, "expand_to": 13, "filler": "[PAD]"}}, "but pooling takes 12"),
    ],
)
def test_our_own_settings(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    folder = layouts.full_constant_pooling(tmp_path / "model")
    write(folder / "asterism.json", json.loads((folder / "asterism.json").read_text()) | change)
    with pytest.raises(CheckpointError, match=message):
        asterism.load_encoder(folder)


def on_a_t5(folder: Path, heads: dict[str, Any], **sections: Any) -> Path:
    """Our own layout over a T5, whose positions have no end."""
    layouts.xtr(folder)
    settings = {"format": 1, "backbone": {"folder": "."}, "document": {"length": 32}, "query": {"length": 32}}
    write(folder / "asterism.json", settings | sections)
    layouts.save_weights(folder / "heads.safetensors", heads)
    return folder


def test_rows_that_are_filled_up_without_end(tmp_path: Path) -> None:
    query = {"length": 10**6, "expand_to": 10**6, "filler": "</s>"}
    vectors = {"layers": ["unit_length"]}
    with pytest.raises(CheckpointError, match="filled up to 1000000, expected at most 1000000 and 1024"):
        asterism.load_encoder(on_a_t5(tmp_path / "model", {}, query=query, multi_vector=vectors))


def test_vectors_without_end(tmp_path: Path) -> None:
    heads = {"wide.weight": np.ones((20_000, 32), np.float32)}
    vectors = {"layers": [{"linear": "wide"}]}
    with pytest.raises(CheckpointError, match="vectors of 20000 numbers, expected up to 16384"):
        asterism.load_encoder(on_a_t5(tmp_path / "model", heads, multi_vector=vectors))


def test_a_matrix_that_does_not_fit_its_positions(tmp_path: Path) -> None:
    folder = layouts.full_constant_pooling(tmp_path / "model")
    heads = {"projection.weight": np.ones((16, 32)), "constant.weight": np.ones((64, 190)), "lexical.weight": None}
    heads |= {"lexical.weight": np.ones((1, 32)), "lexical.bias": np.ones(1)}
    layouts.save_weights(folder / "heads.safetensors", {n: v.astype(np.float32) for n, v in heads.items()})
    with pytest.raises(CheckpointError, match=r"constant.weight has shape \(64, 190\), expected 12 columns"):
        asterism.load_encoder(folder)


def test_a_gated_layer_that_is_not_as_described(tmp_path: Path) -> None:
    shapes = {"ffn.gate.weight": (48, 32), "ffn.up.weight": (48, 32), "ffn.down.weight": (16, 48)}
    heads = {name: layouts.numbers(name, shape) for name, shape in shapes.items()}
    gated = {"gated": "ffn", "activation": "silu"}

    def load(number: int, entry: Any, **changes: Any) -> None:
        vectors = {"layers": [entry, "unit_length"]}
        asterism.load_encoder(on_a_t5(tmp_path / str(number), heads | changes, multi_vector=vectors))

    load(0, gated)
    load(1, {"gated": "ffn"})
    wide = np.ones((1 << 17) + 1, np.float32)
    for number, (entry, changes, message) in enumerate(
        [
            ({"gated": "other"}, {}, r"tensor 'other\.gate\.weight' is missing"),
            ({"gate": "ffn"}, {}, r'is not a layer, expected "unit_length", {"linear": NAME} or {"gated": NAME}'),
            (gated | {"activation": "swish"}, {}, "activation is 'swish', expected one of identity, .*, silu"),
            (gated, {"ffn.gate.weight": np.ones((48, 31))}, r"has shape \(48, 31\), expected \(48, 32\)"),
            (gated, {"ffn.up.weight": np.ones((47, 32))}, r"has shape \(47, 32\), expected \(48, 32\)"),
            (gated, {"ffn.down.weight": np.ones((16, 47))}, r"has shape \(16, 47\), expected \(16, 48\)"),
            (gated, {"ffn.bias": np.ones(16)}, r"tensor 'ffn\.bias' is not used"),
            (gated, {"ffn.down.weight": np.ones((20_000, 48))}, "vectors of 20000 numbers"),
            (
                gated,
                {
                    "ffn.gate.weight": np.repeat(wide[:, None], 32, 1),
                    "ffn.up.weight": np.repeat(wide[:, None], 32, 1),
                    "ffn.down.weight": wide[None],
                },
                "a gated layer of 131073 numbers, expected up to 131072",
            ),
        ],
        start=2,
    ):
        with pytest.raises(CheckpointError, match=message):
            load(number, entry, **{name: np.asarray(value, np.float32) for name, value in changes.items()})
