"""Models in the layouts of other libraries, as our own reader reads them; tests/parity has the libraries themselves."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import asterism
from asterism.encoders.checkpoints.exporting import export_model
from asterism.encoders.checkpoints.layouts import open_checkpoint
from asterism.errors import AsterismError, InputError
from tests import layouts
from tests.layouts import HIDDEN, TEXTS, numbers

BOTH = ("pylate", "sentence-transformers")
EXPANDED = {"length": 16, "marker": "[unused0]", "expand_to": 16, "filler": "[MASK]"}
# Sections of asterism.json that both layouts can express, and some that only modules can.
SECTIONS: dict[str, dict[str, Any]] = {
    "markers": {},
    "no marker": {"query": {"length": 16}, "document": {"length": 40}},
    "prompts": {"query": {"length": 20, "prompt": "query: "}, "document": {"length": 40, "prompt": "the file: "}},
    "both": {"query": EXPANDED | {"prompt": "how: ", "attend": True}, "document": {"length": 30, "prompt": "a: "}},
    "attend": {"query": EXPANDED | {"attend": True, "windows": False}},
    "skipped frame": {"document": {"length": 40, "skipped": ["[CLS]", "[SEP]"]}},
}
ONLY_MODULES: dict[str, dict[str, Any]] = {
    "skipped in queries": {"query": {"length": 20, "marker": "[unused0]", "skipped": ["[CLS]", ".", "the"]}},
    "skipped fillers": {"query": EXPANDED | {"skipped": ["[MASK]"], "windows": False}},
    "partly filled": {"query": EXPANDED | {"expand_to": 8}},
    "other filler": {"query": EXPANDED | {"filler": "[PAD]", "windows": False}},
}


def encode(folder: Path) -> list[Any]:
    encoder = asterism.load_encoder(folder, long="truncate")
    return [encoder.encode_query(TEXTS).multi, encoder.encode_document(TEXTS).multi]


@pytest.mark.parametrize(
    ("layout", "name"),
    [(layout, name) for layout in BOTH for name in SECTIONS] + [(BOTH[1], name) for name in ONLY_MODULES],
)
def test_the_same_vectors(layout: str, name: str, tmp_path: Path) -> None:
    folder = layouts.linear_heads(tmp_path / "model", **(SECTIONS | ONLY_MODULES)[name])
    (folder / "README.md").write_text("# A model\n")
    assert export_model(folder, tmp_path / "export", layout) == ()
    assert open_checkpoint(tmp_path / "export").family == "pylate"
    for before, after in zip(encode(folder), encode(tmp_path / "export"), strict=True):
        np.testing.assert_array_equal(before.offsets, after.offsets)
        np.testing.assert_allclose(after.flat, before.flat, atol=1e-6)
    assert (tmp_path / "export" / "README.md").read_text() == "# A model\n"
    assert sorted(os.listdir(tmp_path)) == ["export", "model"]


@pytest.mark.parametrize("layout", BOTH)
@pytest.mark.parametrize("activation", ["identity", "relu", "tanh", "gelu", "silu"])
def test_every_activation(layout: str, activation: str, tmp_path: Path) -> None:
    layers = [{"linear": "wide", "activation": activation}, {"linear": "narrow"}, "unit_length"]
    folder = layouts.linear_heads(tmp_path / "model", multi_vector={"layers": layers})
    export_model(folder, tmp_path / "export", layout)
    for before, after in zip(encode(folder), encode(tmp_path / "export"), strict=True):
        np.testing.assert_allclose(after.flat, before.flat, atol=1e-6)


@pytest.mark.parametrize("layout", BOTH)
def test_other_views_are_left_out(layout: str, tmp_path: Path) -> None:
    folder = layouts.linear_heads(tmp_path / "model", dense={"pooling": "mean", "layers": ["unit_length"]})
    assert export_model(folder, tmp_path / "export", layout) == ("dense",)
    assert open_checkpoint(tmp_path / "export").views == ("multi",)


def test_a_backbone_elsewhere_under_a_prefix(tmp_path: Path) -> None:
    """Weights of transformers' BertForMaskedLM, as float16."""
    folder = layouts.linear_heads(tmp_path / "model", backbone={"folder": "../backbone"})
    size = layouts.wordpiece(tmp_path / "backbone")
    (folder / "config.json").rename(tmp_path / "backbone" / "config.json")
    (folder / "tokenizer.json").unlink()
    weights = {f"bert.{name}": value.astype(np.float16) for name, value in layouts.bert_weights(size, 256, 2).items()}
    weights["cls.predictions.bias"] = numbers("cls", (size,))
    layouts.save_weights(tmp_path / "backbone" / "model.safetensors", weights)
    export_model(folder, tmp_path / "export", "pylate")
    for before, after in zip(encode(folder), encode(tmp_path / "export"), strict=True):
        np.testing.assert_allclose(after.flat, before.flat, atol=1e-6)


LAYERS = [{"linear": "wide", "activation": "gelu"}, {"linear": "narrow"}]


@pytest.mark.parametrize(
    ("sections", "layout", "message"),
    [
        (
            {"query": EXPANDED | {"skipped": ["."]}},
            "pylate",
            "has queries with tokens that have no vector, which pylate",
        ),
        (ONLY_MODULES["partly filled"], "pylate", "queries of 16 tokens that are filled up to 8"),
        (ONLY_MODULES["other filler"], "pylate", r"queries that are filled up with '\[PAD\]'"),
        (
            {"query": EXPANDED | {"expand_to": 20}},
            "sentence-transformers",
            "queries of 16 tokens that are filled up to 20",
        ),
        ({"query": EXPANDED | {"lower": True}}, "pylate", "has queries in lower case"),
        ({"document": {"length": 40, "first_counts": False}}, "pylate", "documents whose first token has no vector"),
        ({"document": {"length": 40, "expand_to": 40, "filler": "[PAD]"}}, "pylate", "documents that are filled up"),
        ({"multi_vector": {"layers": LAYERS}}, "pylate", "other than linear ones that end with unit_length"),
        ({"multi_vector": {"layers": [*LAYERS, *["unit_length"] * 2]}}, "pylate", "other than linear ones"),
        ({}, "onnx", "'onnx' is not a layout to export to, expected pylate or sentence-transformers"),
    ],
)
def test_what_cannot_be_expressed(sections: dict[str, Any], layout: str, message: str, tmp_path: Path) -> None:
    folder = layouts.linear_heads(tmp_path / "model", **sections)
    with pytest.raises(InputError, match=message):
        export_model(folder, tmp_path / "export", layout)
    assert os.listdir(tmp_path) == ["model"]


def write_heads(folder: Path, heads: dict[str, tuple[int, ...]], **sections: Any) -> Path:
    layouts.linear_heads(folder, **sections)
    layouts.save_weights(folder / "heads.safetensors", {name: numbers(name, shape) for name, shape in heads.items()})
    return folder


@pytest.mark.parametrize("layout", BOTH)
def test_heads_that_cannot_be_expressed(layout: str, tmp_path: Path) -> None:
    parts = {"ffn.gate.weight": (48, HIDDEN), "ffn.up.weight": (48, HIDDEN), "ffn.down.weight": (16, 48)}
    gated = write_heads(tmp_path / "gated", parts, multi_vector={"layers": [{"gated": "ffn"}, "unit_length"]})
    plain = write_heads(tmp_path / "plain", {}, multi_vector={"layers": ["unit_length"]})
    dense = write_heads(tmp_path / "dense", {}, dense={"pooling": "cls", "layers": []}, multi_vector=None)
    t5 = layouts.xtr(tmp_path / "t5")
    settings = {"backbone": {"folder": "."}, "document": {"length": 32}, "query": {"length": 32}}
    layouts.write_json(t5 / "asterism.json", {"format": 1, **settings, "multi_vector": {"layers": ["unit_length"]}})
    for folder, message in (
        (gated, f"has a gated layer, which {layout} folders cannot express"),
        (
            layouts.full_constant_pooling(tmp_path / "pooled"),
            "has constant pooling, documents that are filled up, which",
        ),
        (plain, "layers other than linear ones"),
        (dense, "has no token vectors"),
        (t5, "has a backbone of model_type 't5', expected 'bert'"),
        (layouts.colbert(tmp_path / "colbert"), "is a colbert folder, expected a model in asterism's own layout"),
    ):
        with pytest.raises(AsterismError, match=message):
            export_model(folder, tmp_path / "export", layout)
        assert not (tmp_path / "export").exists()


def test_a_path_that_is_taken(tmp_path: Path) -> None:
    folder = layouts.linear_heads(tmp_path / "model")
    with pytest.raises(InputError, match="model exists already"):
        export_model(folder, folder, "pylate")


def test_the_files(tmp_path: Path) -> None:
    folder = layouts.linear_heads(tmp_path / "model", **SECTIONS["both"])
    export_model(folder, tmp_path / "export", "sentence-transformers")
    kinds = [entry["type"].rsplit(".")[-1] for entry in json.loads((tmp_path / "export" / "modules.json").read_text())]
    assert kinds == ["Transformer", "Dense", "Dense", "MultiVectorMask", "MultiVectorMask", "Normalize"]
    settings = json.loads((tmp_path / "export" / "config_sentence_transformers.json").read_text())
    assert settings["prompts"] == {"document": "a: ", "query": "[unused0]how: "}
