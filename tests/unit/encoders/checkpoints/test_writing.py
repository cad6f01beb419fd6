"""Models that are written, loaded and used."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

import asterism
from asterism.encoders.checkpoints.layouts import open_checkpoint
from asterism.encoders.checkpoints.writing import write_checkpoint
from asterism.encoders.graph.heads import ConstantPooling, DenseHead, Gated, Linear, MultiVectorHead, UnitLength
from asterism.encoders.tokens import TextRules
from asterism.errors import AsterismError, CheckpointError, InputError
from tests import layouts
from tests.full_disks import limit_file_size
from tests.layouts import HIDDEN, TEXTS, numbers

CLS, SEP, MASK, PAD = 5, 6, 7, 0
SKIPPED = frozenset({CLS, SEP})
DOCUMENT = TextRules(40, skipped=SKIPPED)
QUERY = TextRules(16, prompt="query: ", strip=True, marker=1, expand_to=16, filler=MASK, windows=False)
FILLED = TextRules(12, expand_to=12, filler=PAD, windows=False)
PROJECTION = Linear(numbers("projection", (16, HIDDEN)))
GATED = Gated(numbers("gate", (48, HIDDEN)), numbers("up", (48, HIDDEN)), numbers("down", (16, 48)))
BIASED = Linear(numbers("wide", (24, HIDDEN)), numbers("bias", (24,)), "silu")
STATES = MultiVectorHead(())
HEADS = {
    "linear": MultiVectorHead((PROJECTION, UnitLength())),
    "gated": MultiVectorHead((GATED, UnitLength())),
    "both": MultiVectorHead((BIASED, replace(GATED, gate=numbers("g", (9, 24)), up=numbers("u", (9, 24)),
                                             down=numbers("d", (16, 9)), activation="gelu"))),
}  # fmt: skip
POOLED = {
    "shared": MultiVectorHead(
        (PROJECTION, UnitLength()), ConstantPooling(numbers("c", (4, 12)), numbers("b", (4,)), 12)
    ),
    "full": MultiVectorHead((PROJECTION, UnitLength()), ConstantPooling(numbers("f", (64, 192)), None, 12)),
    "full, gated": MultiVectorHead(
        (GATED, UnitLength()), ConstantPooling(numbers("f", (64, 192)), numbers("fb", (64,)), 12)
    ),
}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source") / "bert"
    size = layouts.wordpiece(folder)
    layouts.write_json(folder / "config.json", layouts.bert_config(size, dtype="float16"))
    return folder


@pytest.fixture(scope="module")
def tensors(source: Path) -> dict[str, Any]:
    return layouts.bert_weights(json.loads((source / "config.json").read_text())["vocab_size"], 256, 2)


def encode(folder: Path, texts: list[str] = TEXTS, **settings: Any) -> Any:
    return asterism.load_encoder(folder, long="truncate", **settings).encode_document(texts).multi


@pytest.mark.parametrize("name", HEADS)
def test_layers_are_numpy_on_the_states(name: str, source: Path, tensors: Any, tmp_path: Path) -> None:
    for folder, head in (("states", STATES), ("model", HEADS[name])):
        write_checkpoint(tmp_path / folder, source, tensors, head, DOCUMENT, QUERY, "")
    states, vectors = encode(tmp_path / "states"), encode(tmp_path / "model")
    expected = states.flat
    for layer in HEADS[name].layers:
        expected = layer(expected)
    np.testing.assert_array_equal(states.offsets, vectors.offsets)
    np.testing.assert_allclose(vectors.flat, expected, atol=1e-5)


@pytest.mark.parametrize("name", POOLED)
def test_pooling_is_numpy_on_the_states(name: str, source: Path, tensors: Any, tmp_path: Path) -> None:
    head = POOLED[name]
    for folder, wanted in (("states", STATES), ("model", head)):
        write_checkpoint(tmp_path / folder, source, tensors, wanted, FILLED, QUERY, "")
    states, vectors = encode(tmp_path / "states"), encode(tmp_path / "model")
    cube = states.flat.reshape(len(TEXTS), 12, HIDDEN)
    weight, bias = head.pooling.weight, head.pooling.bias
    expected = []
    for text in cube:  # (12, hidden)
        if name == "shared":
            made = head.layers[0](weight @ text + bias[:, None])
        else:
            made = weight @ head.layers[0](text).reshape(-1)
            made = (made if bias is None else made + bias).reshape(4, 16)
        expected.append(made / np.linalg.norm(made, axis=1, keepdims=True))
    assert vectors.offsets.tolist() == [4 * i for i in range(len(TEXTS) + 1)]
    np.testing.assert_allclose(vectors.flat, np.concatenate(expected), atol=1e-5)


def test_int8(source: Path, tensors: Any, tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "model", source, tensors, HEADS["gated"], DOCUMENT, QUERY, "")
    exact, coarse = (encode(tmp_path / "model", precision=precision) for precision in ("float32", "int8"))
    assert np.einsum("ij,ij->i", exact.flat, coarse.flat).mean() > 0.98


def test_what_is_written_is_what_is_read(source: Path, tensors: Any, tmp_path: Path) -> None:
    dense = DenseHead("mean", (Linear(numbers("dense", (8, HIDDEN)), None, "tanh"), UnitLength()))
    other = TextRules(30, lower=True, first_counts=False, attend=True, expand_to=20, filler=PAD)
    folder = tmp_path / "model"
    write_checkpoint(folder, source, tensors, HEADS["both"], other, QUERY, "# A model\n", dense)
    found = open_checkpoint(folder)
    assert (found.document, found.query) == (other, QUERY)
    for head, given in ((found.multi, HEADS["both"]), (found.dense, dense)):
        for layer, wanted in zip(head.layers, given.layers, strict=True):
            assert type(layer) is type(wanted)
            for field, value in vars(wanted).items():
                np.testing.assert_array_equal(getattr(layer, field), value)
    assert (folder / "README.md").read_text() == "# A model\n"
    assert json.loads((folder / "config.json").read_text())["dtype"] == "float32"
    stored = load_file(folder / "model.safetensors")
    assert stored.keys() == tensors.keys()
    for name, values in tensors.items():
        np.testing.assert_array_equal(stored[name], values)
    assert {file.name for file in folder.iterdir()} == {
        "asterism.json", "heads.safetensors", "model.safetensors", "config.json", "README.md",
        "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
    }  # fmt: skip
    again = tmp_path / "again"
    write_checkpoint(again, folder, tensors, found.multi, found.document, found.query, "# A model\n", found.dense)
    for file in folder.iterdir():
        assert file.read_bytes() == (again / file.name).read_bytes(), file.name


def test_a_vocabulary_file_alone(source: Path, tensors: Any, tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    (old / "config.json").write_bytes((source / "config.json").read_bytes())
    words = json.loads((source / "tokenizer.json").read_text())["model"]["vocab"]
    (old / "vocab.txt").write_text("\n".join(sorted(words, key=words.get)))
    for name, given in (("a", source), ("b", old)):
        write_checkpoint(tmp_path / name, given, tensors, HEADS["linear"], DOCUMENT, QUERY, "")
    np.testing.assert_array_equal(encode(tmp_path / "a", TEXTS[:2]).flat, encode(tmp_path / "b", TEXTS[:2]).flat)


def test_added_tokens(source: Path, tensors: Any, tmp_path: Path) -> None:
    size = len(tensors["embeddings.word_embeddings.weight"])
    marked = replace(QUERY, marker=size), replace(DOCUMENT, marker=size + 1)
    given = (HEADS["linear"], marked[1], marked[0], "")
    added = {"add_tokens": ("[Q] ", "[unused2]", "[D] ")}
    message = rf"have {size} rows, expected at least {size + 2} for the tokenizer of .* with '\[Q\] '"
    with pytest.raises(InputError, match=message):
        write_checkpoint(tmp_path / "model", source, tensors, *given, **added)
    assert os.listdir(tmp_path) == []
    words = np.concatenate([tensors["embeddings.word_embeddings.weight"], numbers("new", (2, HIDDEN))])
    more = tensors | {"embeddings.word_embeddings.weight": words}
    write_checkpoint(tmp_path / "model", source, more, *given, **added)
    assert json.loads((tmp_path / "model" / "asterism.json").read_text())["query"]["marker"] == "[Q] "
    found = open_checkpoint(tmp_path / "model")
    assert (found.query, found.document) == marked
    assert found.tokenizer.encode(["[Q] how [unused2]"], TextRules(9))[0].ids == [
        size, found.tokenizer.find_id("how"), 3,
    ]  # fmt: skip
    assert len(encode(tmp_path / "model").flat)


def without(tensors: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in tensors.items() if key != name}


LAYER = "encoder.layer.0.output.dense.bias"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"head": MultiVectorHead((replace(PROJECTION, residual="same"),))}, "layer 0 of multi_vector has a residual"),
        (
            {"head": MultiVectorHead((replace(GATED, down=numbers("d", (16, 47))),))},
            r"down.weight' has shape \(16, 47\)",
        ),
        ({"head": MultiVectorHead((replace(GATED, up=numbers("d", (16, 47))),))}, r"up.weight' has shape \(16, 47\)"),
        (
            {"head": MultiVectorHead((replace(PROJECTION, weight=np.full((16, HIDDEN), np.nan)),))},
            "has NaN or infinity",
        ),
        ({"head": POOLED["full"]}, "documents of 40 tokens, filled up to 0, but pooling takes 12"),
        ({"document": replace(DOCUMENT, marker=99999)}, "id 99999 is not a token"),
        ({"document": replace(DOCUMENT, skipped=frozenset({-1}))}, "id -1 is not a token"),
        ({"query": replace(QUERY, length=999)}, "queries of 999 tokens, but the model has 256 positions"),
        ({"tensors": lambda all: without(all, LAYER)}, f"tensor '{LAYER}' is missing"),
        ({"tensors": lambda all: all | {"more.weight": all[LAYER]}}, "'more.weight' is not part of this layout"),
        ({"tensors": lambda all: {}}, "no 'embeddings.word_embeddings.weight'"),
        ({"tensors": lambda all: all | {LAYER: all[LAYER] * np.nan}}, f"'{LAYER}' has NaN"),
    ],
)
def test_bad_input(source: Path, tensors: Any, tmp_path: Path, change: dict[str, Any], message: str) -> None:
    given = {"head": HEADS["linear"], "document": DOCUMENT, "query": QUERY, "card": ""} | change
    given["tensors"] = change.get("tensors", lambda all: all)(tensors)
    with pytest.raises(AsterismError, match=message) as caught:
        write_checkpoint(tmp_path / "model", source, **given)
    assert "making-" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_a_source_without_a_tokenizer(tensors: Any, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"neither tokenizer\.json nor vocab\.txt"):
        write_checkpoint(tmp_path / "model", tmp_path, tensors, HEADS["linear"], DOCUMENT, QUERY, "")
    assert os.listdir(tmp_path) == []


def test_a_path_that_is_taken(source: Path, tensors: Any, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    with pytest.raises(InputError, match="model exists already, expected a new folder"):
        write_checkpoint(tmp_path / "model", source, tensors, HEADS["linear"], DOCUMENT, QUERY, "")
    assert os.listdir(tmp_path / "model") == []


def test_a_full_disk(source: Path, tensors: Any, tmp_path: Path) -> None:
    reason = os.strerror(errno.EFBIG)
    with (
        limit_file_size(1 << 16),
        pytest.raises(CheckpointError, match=rf"model cannot be written \({reason}\): make room"),
    ):
        write_checkpoint(tmp_path / "model", source, tensors, HEADS["linear"], DOCUMENT, QUERY, "")
    assert os.listdir(tmp_path) == []
