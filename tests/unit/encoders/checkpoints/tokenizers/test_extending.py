"""Tokenizers with more special tokens."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer

from asterism.encoders.checkpoints.tokenizers.extending import extend_tokenizer
from asterism.errors import CheckpointError
from tests import layouts


def test_new_tokens_follow_the_vocabulary(tmp_path: Path) -> None:
    size = layouts.wordpiece(tmp_path / "model", ("[X]",))
    found = Tokenizer.from_str(extend_tokenizer(tmp_path / "model", ("[Q] ", "[unused0]", "[D] ", "[Q] ")))
    assert [found.token_to_id(token) for token in ("[X]", "[Q] ", "[D] ", "[unused0]")] == [size - 1, size, size + 1, 1]
    assert found.encode("[D] fox [unused0]", add_special_tokens=False).tokens == ["[D] ", "fox", "[unused0]"]
    assert found.get_vocab_size() == size + 2


def test_nothing_to_add(tmp_path: Path) -> None:
    layouts.wordpiece(tmp_path / "model")
    found = Tokenizer.from_str(extend_tokenizer(tmp_path / "model", ()))
    before = Tokenizer.from_file(str(tmp_path / "model" / "tokenizer.json"))
    assert found.to_str() == before.to_str()


def test_no_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"neither tokenizer\.json nor vocab\.txt"):
        extend_tokenizer(tmp_path, ("[Q] ",))
