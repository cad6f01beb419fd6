"""Sizes that a file announces: checked against what it holds before anything is done with them."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import asterism
from asterism.encoders.checkpoints.checkpoint import UnwrittenTransformer
from asterism.encoders.checkpoints.tokenizers.vocabulary_limits import check_vocabulary
from asterism.encoders.checkpoints.weights.files import open_weights
from asterism.encoders.checkpoints.weights.safetensors_files import read_safetensors
from asterism.errors import CheckpointError
from tests import layouts
from tests.faults.hostile_checkpoints import sharded
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


def test_a_large_honest_vocabulary_is_allowed() -> None:
    """As many pieces, as long and as alike as those of XLM-R."""
    rng = np.random.default_rng(0)
    letters = np.frombuffer(b"etaoinshrdlu", np.uint8)[rng.integers(12, size=(250_000, 10))].tobytes().decode()
    sizes = rng.integers(3, 11, 250_000).tolist()
    pieces = {"▁" + letters[10 * number : 10 * number + size] for number, size in enumerate(sizes)}
    content = {"model": {"type": "Unigram", "vocab": [[piece, -1.0] for piece in pieces]}}
    check_vocabulary(content, Path("tokenizer.json"))


def test_vectors_without_end(tmp_path: Path) -> None:
    heads = {"wide.weight": np.ones((20_000, 32), np.float32)}
    vectors = {"layers": [{"linear": "wide"}]}
    with pytest.raises(CheckpointError, match="vectors of 20000 numbers, expected up to 16384"):
        asterism.load_encoder(on_a_t5(tmp_path / "model", heads, multi_vector=vectors))


def test_ids_of_a_frame_that_have_no_row(models: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(models["bert"], tmp_path / "model")
    content = json.loads((tmp_path / "model" / "tokenizer.json").read_text())
    content["post_processor"]["special_tokens"]["[CLS]"]["ids"] = [999_999]
    write(tmp_path / "model" / "tokenizer.json", content)
    with pytest.raises(CheckpointError, match="has ids up to 999999"):
        asterism.load_encoder(tmp_path / "model")


def test_a_matrix_that_does_not_fit_its_positions(tmp_path: Path) -> None:
    folder = layouts.full_constant_pooling(tmp_path / "model")
    heads = {"projection.weight": np.ones((16, 32)), "constant.weight": np.ones((64, 190)), "lexical.weight": None}
    heads |= {"lexical.weight": np.ones((1, 32)), "lexical.bias": np.ones(1)}
    layouts.save_weights(folder / "heads.safetensors", {n: v.astype(np.float32) for n, v in heads.items()})
    with pytest.raises(CheckpointError, match=r"constant.weight has shape \(64, 190\), expected 12 columns"):
        asterism.load_encoder(folder)


def rewritten(file: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    """A safetensors file of two tensors, its header changed."""
    layouts.save_weights(file, {"a": np.ones((2, 3), np.float32), "b": np.ones(4, np.float32)})
    content = file.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    made = change(header)
    made = made if isinstance(made, bytes) else json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(made)) + made + content[8 + length :])
    return file


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: header["a"].update(shape=[10**30, 10**30]), "of shape"),
        (lambda header: header["a"].update(shape=[-2, -3]), "of shape"),
        (lambda header: header["a"].update(shape=[1] * 1000), "of shape"),
        (lambda header: header["a"].update(shape=[2.0, 3]), "of shape"),
        (lambda header: header["a"].update(data_offsets=[0, 10**30]), "from byte 0 to"),
        (lambda header: header["b"].update(data_offsets=[0, 16]), "at byte 0, expected"),
        (lambda header: header["b"].update(data_offsets=[2**62, 2**62 + 16]), "at byte"),
        (lambda header: header.pop("b"), "bytes, expected .* by its header"),
        (lambda header: header.update(a=3), "'a' without dtype, shape and data_offsets"),
        (lambda header: header["a"].update(dtype=["F32"]), "of type"),
        (lambda header: b'{"a": {}, "a": {}}', "the key 'a' twice"),
        (lambda header: b"[" * 50_000, "nested too deeply"),
        (lambda header: b"[]", "a header that is a list"),
        (lambda header: b"[" + b"[]," * 2_000_000 + b"[]]", "JSON values, expected at most"),
    ],
)
def test_safetensors_headers(tmp_path: Path, change: Callable[[dict[str, Any]], Any], message: str) -> None:
    with pytest.raises(CheckpointError, match=rf"x\.safetensors .*{message}"):
        read_safetensors(rewritten(tmp_path / "x.safetensors", change))


@pytest.mark.parametrize("length", [0, 1, 17 << 20, 10**8, 2**63, 2**64 - 1])
def test_the_length_of_a_header(tmp_path: Path, length: int) -> None:
    (tmp_path / "x.safetensors").write_bytes(struct.pack("<Q", length) + b"{}" + bytes(100))
    with pytest.raises(CheckpointError, match=f"a header of {length} bytes"):
        read_safetensors(tmp_path / "x.safetensors")


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "sub/x", "..", ".", "", "a\0b"])
def test_shards_beside_their_index(tmp_path: Path, name: str) -> None:
    folder = sharded(tmp_path / "model")
    layouts.write_json(folder / "model.safetensors.index.json", {"weight_map": {"a": name}})
    with pytest.raises(CheckpointError, match=r"expected a file in the same folder|cannot be read"):
        open_weights(folder)


def test_a_tensor_in_two_shards(tmp_path: Path) -> None:
    folder = sharded(tmp_path / "model")
    shutil.copy(folder / "model-0.safetensors", folder / "model-1.safetensors")
    with pytest.raises(CheckpointError, match=r"is in model-0\.safetensors too"):
        open_weights(folder)
