"""A checkpoint that is not as its layout says: one error that names the file and the tensor."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import asterism
from asterism.errors import CheckpointError
from tests import layouts
from tests.faults.hostile_json import write


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


def test_vocabulary_must_fit(good: Path, tmp_path: Path) -> None:
    shutil.copytree(good, tmp_path / "model")
    layouts.wordpiece(tmp_path / "model", ("extra", "tokens"))
    with pytest.raises(CheckpointError, match=r"tokenizer\.json has ids up to"):
        asterism.load_encoder(tmp_path / "model")


def test_ids_of_a_frame_that_have_no_row(good: Path, tmp_path: Path) -> None:
    shutil.copytree(good, tmp_path / "model")
    content = json.loads((tmp_path / "model" / "tokenizer.json").read_text())
    content["post_processor"]["special_tokens"]["[CLS]"]["ids"] = [999_999]
    write(tmp_path / "model" / "tokenizer.json", content)
    with pytest.raises(CheckpointError, match="has ids up to 999999"):
        asterism.load_encoder(tmp_path / "model")
