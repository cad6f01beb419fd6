"""How much memory a vocabulary may need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asterism.encoders.checkpoints.tokenizers.vocabulary_limits import _count_prefixes, check_vocabulary
from asterism.encoders.tokens import TextTokenizer
from asterism.errors import CheckpointError

from .tokenizer_files import changed


def test_a_large_honest_vocabulary_is_allowed() -> None:
    """As many pieces, as long and as alike as those of XLM-R."""
    rng = np.random.default_rng(0)
    letters = np.frombuffer(b"etaoinshrdlu", np.uint8)[rng.integers(12, size=(250_000, 10))].tobytes().decode()
    sizes = rng.integers(3, 11, 250_000).tolist()
    pieces = {"▁" + letters[10 * number : 10 * number + size] for number, size in enumerate(sizes)}
    content = {"model": {"type": "Unigram", "vocab": [[piece, -1.0] for piece in pieces]}}
    check_vocabulary(content, Path("tokenizer.json"))


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        ([["x" * 10**6, -1.0]], "a piece of 1000000 bytes, expected at most 256"),
        ([[f"{i:x}".zfill(250)[::-1], -1.0] for i in range(9000)], "different prefixes, expected at most 290000"),
        ([3], "expected a list of pieces and their scores"),
        ({"a": 1}, "expected a list of pieces and their scores"),
    ],
)
def test_pieces_that_would_fill_the_memory(tmp_path: Path, vocabulary: Any, message: str) -> None:
    """A piece of a million letters is a million nodes, whose end is a signal."""
    with pytest.raises(CheckpointError, match=message):
        TextTokenizer(changed(tmp_path, "model", {"type": "Unigram", "unk_id": 0, "vocab": vocabulary}))


def test_beginnings_are_counted_once() -> None:
    pieces = [b"a", b"ab", b"abc", b"b", "東京".encode(), "東".encode()]
    assert _count_prefixes(pieces, max(map(len, pieces))) == len(
        {piece[:i] for piece in pieces for i in range(1, 7)} - {b""}
    )


def test_added_tokens_without_end(tmp_path: Path) -> None:
    added = [{"id": 0, "content": "x" * 10**6 + "y", "special": True}]
    with pytest.raises(CheckpointError, match="1000001 characters of added tokens"):
        TextTokenizer(changed(tmp_path, "added_tokens", added))
