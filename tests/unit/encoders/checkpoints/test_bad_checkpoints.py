"""A checkpoint that is not as its layout says: one error that names the file and the tensor."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

import asterism
from asterism.encoders.checkpoints.layouts import open_checkpoint
from asterism.encoders.encoder import Encoder
from asterism.encoders.graph.heads import MultiVectorHead
from asterism.errors import AsterismError, CheckpointError, SettingError, UnknownModel
from asterism.settings import EncoderSettings
from tests import layouts

QUERY = "bert.encoder.layer.2.attention.self.query.weight"


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return layouts.colbert(tmp_path_factory.mktemp("good") / "model")


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


@pytest.mark.parametrize(
    ("file", "key", "value", "message"),
    [
        ("config.json", "model_type", "mamba", r"model_type 'mamba' has no ONNX graph"),
        ("config.json", "vocab_size", 50, r"word_embeddings.weight' has shape"),
        ("config.json", "hidden_act", "swish", r"activation 'swish'"),
        ("config.json", "num_attention_heads", 5, r"5 heads"),
        ("config.json", "num_attention_heads", 0, r"num_attention_heads is 0, expected a whole number from 1"),
        ("config.json", "num_hidden_layers", "many", r"config\.json"),
        ("config.json", "position_embedding_type", "relative_key", r"'relative_key' positions"),
        ("artifact.metadata", "doc_maxlen", 999, r"documents of 999 tokens, but the model has 256 positions"),
        (
            "artifact.metadata",
            "doc_maxlen",
            "many",
            r"metadata: doc_maxlen is 'many', expected a whole number",
        ),
        ("artifact.metadata", "query_maxlen", [1], r"query_maxlen is \[1\], expected a whole number"),
        ("artifact.metadata", "doc_maxlen", 4, r"documents of 4 tokens, expected at least 7"),
        ("artifact.metadata", "doc_token_id", "[D]", r"no token '\[D\]', expected one for the documents' marker"),
    ],
)
def test_settings(good: Path, tmp_path: Path, file: str, key: str, value: Any, message: str) -> None:
    shutil.copytree(good, tmp_path / "model")
    content = json.loads((good / file).read_text())
    layouts.write_json(tmp_path / "model" / file, content | {key: value})
    with pytest.raises(CheckpointError, match=message):
        asterism.load_encoder(tmp_path / "model")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors", "artifact.metadata"])
@pytest.mark.parametrize("content", [b"", b"{", b"\x00" * 100, b"[]"])
def test_damaged_files(good: Path, tmp_path: Path, name: str, content: bytes) -> None:
    shutil.copytree(good, tmp_path / "model")
    (tmp_path / "model" / name).write_bytes(content)
    with pytest.raises(CheckpointError, match=name.replace(".", r"\.")):
        asterism.load_encoder(tmp_path / "model")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_missing_files(good: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(good, tmp_path / "model")
    (tmp_path / "model" / name).unlink()
    with pytest.raises(CheckpointError, match=name.replace(".", r"\.")):
        asterism.load_encoder(tmp_path / "model")


def test_truncated_weights(good: Path, tmp_path: Path) -> None:
    shutil.copytree(good, tmp_path / "model")
    file = tmp_path / "model" / "model.safetensors"
    whole = file.read_bytes()
    for size in (4, 8, 100, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        with pytest.raises(CheckpointError, match=r"model\.safetensors"):
            asterism.load_encoder(tmp_path / "model")


@pytest.mark.parametrize("head", ["colbert_linear.pt", "sparse_linear.pt"])
def test_a_head_must_be_there(tmp_path: Path, head: str) -> None:
    folder = layouts.bge_m3(tmp_path / "model")
    (folder / head).unlink()
    with pytest.raises(CheckpointError, match=rf"{head} is missing"):
        asterism.load_encoder(folder)


def test_vocabulary_must_fit(good: Path, tmp_path: Path) -> None:
    shutil.copytree(good, tmp_path / "model")
    layouts.wordpiece(tmp_path / "model", ("extra", "tokens"))
    with pytest.raises(CheckpointError, match=r"tokenizer\.json has ids up to"):
        asterism.load_encoder(tmp_path / "model")


def test_no_model(tmp_path: Path) -> None:
    with pytest.raises(UnknownModel, match="not a model of a known layout"):
        asterism.load_encoder(tmp_path)
    with pytest.raises(UnknownModel, match="did you mean 'all-MiniLM-L6-v2'"):
        asterism.load_encoder("all-MiniLM-L6-v3")
    with pytest.raises(UnknownModel, match="no folder"):
        asterism.load_encoder(tmp_path / "nothing")
    (tmp_path / "file").write_text("x")
    with pytest.raises(UnknownModel, match="is a file"):
        asterism.load_encoder(tmp_path / "file")
    with pytest.raises(SettingError, match="did you mean 'precision'"):
        asterism.load_encoder(tmp_path, precison="int8")


def test_a_pickle_that_wants_to_run_code(tmp_path: Path) -> None:
    import pickle

    from .weights.test_torch_files import Evil, archive

    folder = layouts.bge_m3(tmp_path / "model")
    archive(folder / "colbert_linear.pt", pickle.dumps({"weight": Evil()}))
    with pytest.raises(AsterismError, match=r"colbert_linear\.pt wants to run"):
        asterism.load_encoder(folder)


def test_links_are_followed(good: Path, tmp_path: Path) -> None:
    """As in the hub's cache: the file behind a link has another name."""
    expected = asterism.load_encoder(good).encode_query(["fox"]).multi.flat
    linked = tmp_path / "snapshot"
    shutil.copytree(good, linked)
    (tmp_path / "blobs").mkdir()
    (linked / "model.safetensors").rename(tmp_path / "blobs" / "0123abc")
    (linked / "model.safetensors").symlink_to(tmp_path / "blobs" / "0123abc")
    np.testing.assert_array_equal(asterism.load_encoder(linked).encode_query(["fox"]).multi.flat, expected)
    np.testing.assert_array_equal(asterism.load_encoder(good).encode_query(["fox"]).multi.flat, expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "format 2, expected 1"),
        ({"backbone": {"folder": 5}}, "5"),
        ({"backbone": {"model": 5}}, "'5' is neither a folder nor a known model"),
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


def test_files_are_told_apart(tmp_path: Path) -> None:
    said = asterism.load_encoder(layouts.pylate(tmp_path / "model")).describe()["files"]
    assert {"model.safetensors", "1_Dense/model.safetensors", "modules.json"} <= set(said)
    assert said["model.safetensors"] != said["1_Dense/model.safetensors"]


def test_prompts_of_sentence_transformers(tmp_path: Path) -> None:
    folder = layouts.sentence_transformer(tmp_path / "model")
    settings = {"prompts": {"query": "query "}, "default_prompt_name": "query"}
    layouts.write_json(folder / "config_sentence_transformers.json", settings)
    encoder = asterism.load_encoder(folder)
    plain = encoder.encode_document(["query fox"]).dense
    np.testing.assert_allclose(encoder.encode_query(["fox"]).dense, plain, atol=1e-5)


def test_older_folders_of_sentence_transformers(tmp_path: Path) -> None:
    expected = asterism.load_encoder(layouts.sentence_transformer(tmp_path / "new")).encode_document(["fox"])
    folder = layouts.sentence_transformer(tmp_path / "old")
    inside = folder / "0_Transformer"
    inside.mkdir()
    for file in (
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
    ):
        (folder / file).rename(inside / file)
    (folder / "sentence_bert_config.json").rename(inside / "sentence_distilbert_config.json")
    listed = json.loads((folder / "modules.json").read_text())
    listed[0]["path"] = "0_Transformer"
    layouts.write_json(folder / "modules.json", listed)
    encoder = asterism.load_encoder(folder)
    assert encoder.describe()["document_length"] == 40
    np.testing.assert_allclose(encoder.encode_document(["fox"]).dense, expected.dense, atol=1e-6)


def test_a_sentence_t5_is_no_xtr(tmp_path: Path) -> None:
    folder = layouts.xtr(tmp_path / "model")
    assert asterism.load_encoder(folder).describe()["family"] == "xtr"
    wide = {"in_features": 32, "out_features": 32, "bias": False}
    wide["activation_function"] = "torch.nn.modules.linear.Identity"
    layouts.write_json(folder / "2_Dense" / "config.json", wide)
    layouts.save_torch(folder / "2_Dense" / "pytorch_model.bin", {"linear.weight": layouts.numbers("d", (32, 32))})
    layouts.write_json(folder / "1_Pooling" / "config.json", {"pooling_mode_mean_tokens": True})
    kinds = (("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Dense", "Dense"), ("3_Normalize", "Normalize"))
    listed = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in kinds]
    layouts.write_json(folder / "modules.json", listed)
    assert asterism.load_encoder(folder).describe()["family"] == "sentence-transformers"


def test_a_broken_memory_of_hashes(good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASTERISM_CACHE", str(tmp_path))
    (tmp_path / "hashes.json").write_text("[]")
    assert asterism.load_encoder(good).views == ("multi",)
    (tmp_path / "hashes.json").write_text('{"x": 3}')
    for file in (tmp_path / "graphs").iterdir():
        file.write_bytes(file.read_bytes()[:-5])  # a damaged graph is written again
    assert len(asterism.load_encoder(good).encode_query(["fox"])) == 1


def test_the_same_files_read_in_two_ways(tmp_path: Path) -> None:
    """A graph in the cache belongs to the views it has, not to the files alone."""
    checkpoint = open_checkpoint(layouts.sentence_transformer(tmp_path / "model"))
    assert Encoder(checkpoint, EncoderSettings()).encode_document(["fox"]).multi is None
    more = replace(checkpoint, multi=MultiVectorHead(()))
    assert len(Encoder(more, EncoderSettings()).encode_document(["fox"]).multi) == 1
