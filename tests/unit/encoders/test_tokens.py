"""Rows of token ids: windows, origins of characters, tokenizers."""

from __future__ import annotations

from pathlib import Path

import pytest

from asterism.encoders.tokens import TextRules, TextTokenizer, cut_windows, find_origins
from asterism.errors import EncodingError
from tests.faults import hostile_tokenizers as hostile

from .checkpoints.tokenizers.tokenizer_files import changed


def test_windows_cover_once() -> None:
    for tokens in range(400):
        for room in (8, 33, 100):
            found = cut_windows(tokens, room)
            assert [w[2] for w in found] == [0] + [w[3] for w in found[:-1]]
            assert found[-1][3] == tokens
            for begin, end, own_from, own_to in found:
                assert 0 <= begin <= own_from <= own_to <= end <= begin + room


def test_origins() -> None:
    text = " \u2003İSΣİ\n"
    for strip in (False, True):
        for lower in (False, True):
            made = text.strip() if strip else text
            made = made.lower() if lower else made
            found = find_origins(text, TextRules(20, "to ", strip, lower))
            assert found[:3] == [-1, -1, -1]
            assert len(found) == 3 + len(made)
            assert [text[place] for place in found[3:] if text[place] != "İ"] == list(
                (text.strip() if strip else text).replace("İ", "")
            )


def test_a_pattern_without_end_is_an_error(tmp_path: Path) -> None:
    """The library gives up, in a panic, on a pattern that tries everything."""
    tokenizer = TextTokenizer(changed(tmp_path, "normalizer", hostile.replacing("(a|aa)+$", "b", "Regex")))
    with pytest.raises(EncodingError, match=r"cannot be used on these texts: .*retry-limit"):
        tokenizer.encode(["a" * 60 + "!"], TextRules(0))


def test_padding_and_truncation_of_the_file_do_not_count(tmp_path: Path) -> None:
    padding = {"strategy": {"Fixed": 10**9}, "direction": "Right", "pad_to_multiple_of": 10**9, "pad_id": 0}
    folder = changed(tmp_path, "padding", padding | {"pad_type_id": 0, "pad_token": "[PAD]"})
    assert len(TextTokenizer(folder).encode(["fox"], TextRules(0))[0].ids) == 1
