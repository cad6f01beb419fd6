"""Tokenizer files that are read, or refused before the library reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from asterism.encoders.tokens import TextRules, TextTokenizer
from asterism.errors import CheckpointError
from tests import layouts


def test_a_model_without_a_type(tmp_path: Path) -> None:
    """As the first versions of the library wrote it, and the files of BERT and RoBERTa still are."""
    layouts.wordpiece(tmp_path)
    content = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    del content["model"]["type"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    assert len(TextTokenizer(tmp_path).encode(["fox"], TextRules(0))[0].ids) == 1
    content["model"] = {"unk_id": 0, "vocab": [["<unk>", 0.0], ["x" * 10**6, -1.0]]}
    (tmp_path / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(CheckpointError, match="a piece of 1000000 bytes"):
        TextTokenizer(tmp_path)


def test_a_vocabulary_of_lines_without_end(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("a\n" * 1_000_001)
    with pytest.raises(CheckpointError, match="has more than 1000000 lines"):
        TextTokenizer(tmp_path)


def test_a_section_twice(tmp_path: Path) -> None:
    """The library might take the one that was not looked at."""
    layouts.wordpiece(tmp_path)
    file = tmp_path / "tokenizer.json"
    file.write_text('{"normalizer": null,' + file.read_text(encoding="utf-8").lstrip()[1:], encoding="utf-8")
    with pytest.raises(CheckpointError, match="the key 'normalizer' twice"):
        TextTokenizer(tmp_path)
