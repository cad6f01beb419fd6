"""Folders of sentence-transformers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import asterism
from tests import layouts


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
