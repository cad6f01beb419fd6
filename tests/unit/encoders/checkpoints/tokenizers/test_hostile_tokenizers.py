"""tokenizer.json files: the published ones load, those that would hurt do not."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import normalizers

from asterism.encoders.checkpoints.tokenizers.charsmap import compute_map_growth
from asterism.encoders.checkpoints.tokenizers.limits import check_tokenizer
from asterism.encoders.checkpoints.tokenizers.vocabulary_limits import _count_prefixes
from asterism.encoders.tokens import TextRules, TextTokenizer
from asterism.errors import CheckpointError, EncodingError
from tests import layouts
from tests.faults import hostile_tokenizers as hostile


def precompiled(found: dict[int, bytes]) -> str:
    """A map of single bytes, its trie as SentencePiece writes it: children at 256 ^ byte, leaves at 512 + byte."""
    trie, replacements = np.zeros(1024, "<u4"), b""
    trie[0] = 256 << 10
    for byte, replacement in found.items():
        child, leaf = 256 ^ byte, 512 + byte
        trie[child] = ((child ^ leaf) << 10) | 1 << 8 | byte
        trie[leaf] = 1 << 31 | len(replacements)
        replacements += replacement + b"\0"
    return base64.b64encode(struct.pack("<I", trie.nbytes) + trie.tobytes() + replacements).decode()


# As nmt_nfkc has it: its longest replacement, of 33 bytes, is that of a character of three bytes.
CHARSMAP = base64.b64encode(struct.pack("<I", 4) + bytes(4) + b"x" * 33 + b"\0").decode()
REPLACE_SPACES = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}
METASPACE = {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True, "prepend_scheme": "always"}
QUOTES = {"type": "Replace", "pattern": {"String": "``"}, "content": '"'}
GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def sequence(kind: str, *steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", kind: list(steps)}


PUBLISHED = {  # steps as the published files have them: normalizer, pre_tokenizer, post_processor
    "BERT": ({"type": "BertNormalizer"}, {"type": "BertPreTokenizer"}, {"type": "TemplateProcessing"}),
    "XLM-R, BGE-M3": (
        sequence("normalizers", {"type": "Precompiled", "precompiled_charsmap": CHARSMAP}, REPLACE_SPACES),
        sequence("pretokenizers", {"type": "WhitespaceSplit"}, METASPACE),
        {"type": "TemplateProcessing"},
    ),
    "T5, XTR": (
        sequence(
            "normalizers",
            {"type": "Precompiled", "precompiled_charsmap": CHARSMAP},
            {"type": "Strip", "strip_left": False, "strip_right": True},
            REPLACE_SPACES,
        ),
        METASPACE,
        {"type": "TemplateProcessing"},
    ),
    "RoBERTa": (
        None,
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
        {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0]},
    ),
    "ModernBERT": (
        {"type": "NFC"},
        sequence(
            "pretokenizers",
            {"type": "Split", "pattern": {"Regex": GPT2}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
        ),
        {"type": "TemplateProcessing"},
    ),
    "ALBERT": (
        sequence(
            "normalizers",
            QUOTES,
            QUOTES,
            *({"type": kind} for kind in ("NFKD", "StripAccents", "Lowercase")),
            {"type": "Precompiled", "precompiled_charsmap": CHARSMAP},
            {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
        ),
        sequence("pretokenizers", {"type": "WhitespaceSplit"}, METASPACE),
        {"type": "TemplateProcessing"},
    ),
}


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


@pytest.mark.parametrize("name", PUBLISHED)
def test_steps_of_published_tokenizers(name: str) -> None:
    normalizer, pre_tokenizer, post_processor = PUBLISHED[name]
    content = {"normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "post_processor": post_processor}
    check_tokenizer({**content, "decoder": None, "model": {"type": "BPE"}}, Path("tokenizer.json"))


def changed(folder: Path, section: str, value: Any) -> Path:
    layouts.wordpiece(folder)
    content = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    (folder / "tokenizer.json").write_text(json.dumps(content | {section: value}), encoding="utf-8")
    return folder


def test_four_steps_of_a_thousand(tmp_path: Path) -> None:
    folder = changed(tmp_path, "normalizer", sequence("normalizers", *[hostile.THOUSAND] * 4))
    with pytest.raises(CheckpointError, match="up to 1000000000000 times as long, expected at most 256 times"):
        TextTokenizer(folder)


@pytest.mark.parametrize(
    ("section", "value", "message"),
    [
        ("normalizer", hostile.nested(hostile.THOUSAND, 60), "nested too deeply, expected at most 4 levels"),
        ("normalizer", sequence("normalizers", *[{"type": "NFC"}] * 40), "not a list of at most 32 steps"),
        ("normalizer", {"pattern": {"String": "a"}, "content": "b"}, "normalizer has None, expected one of"),
        ("normalizer", hostile.replacing("(" * 5000, "b", "Regex"), "a string of more than 4096 characters"),
        ("normalizer", hostile.with_map(b"\4\0\0\0" + b"x" * 10**5), "times as long"),
        ("normalizer", hostile.with_map(b"\xff\xff\xff\xff"), "precompiled_charsmap that cannot be used"),
        (
            "normalizer",
            hostile.with_map(b"\4\0\0\0\xff\xff\xff\xffabc\0"),
            "used on a text: index out of",
        ),
        ("normalizer", {"type": "Prepend", "prepend": "x" * 3000, "content": ""}, "up to 3001 times as long"),
        ("normalizer", {"type": "Prepend", "prepend": "x" * 3000, "pattern": {"String": "y" * 4000}}, "3001 times"),
        ("pre_tokenizer", sequence("pretokenizers", *[hostile.BYTES] * 20), "times as long"),
        ("pre_tokenizer", {"type": "FixedLength", "length": 0}, "'FixedLength', expected one of"),
        ("post_processor", hostile.template([hostile.PIECE] * 1000, 1), "a list of more than 64 values"),
        ("post_processor", sequence("processors", *[hostile.template([hostile.PIECE] * 60, 1)] * 3), "times as long"),
        ("decoder", hostile.nested({"type": "Fuse"}, 100, "decoders"), "nested too deeply, expected at most 4 levels"),
        ("model", {"type": "WordPiece", "max_input_chars_per_word": 10**12}, "max_input_chars_per_word is 10{12}"),
        ("model", None, "has no model"),
    ],
)
def test_steps_that_hurt(tmp_path: Path, section: str, value: Any, message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        TextTokenizer(changed(tmp_path, section, value))


def test_a_pattern_without_end_is_an_error(tmp_path: Path) -> None:
    """The library gives up, in a panic, on a pattern that tries everything."""
    tokenizer = TextTokenizer(changed(tmp_path, "normalizer", hostile.replacing("(a|aa)+$", "b", "Regex")))
    with pytest.raises(EncodingError, match=r"cannot be used on these texts: .*retry-limit"):
        tokenizer.encode(["a" * 60 + "!"], TextRules(0))


def test_padding_and_truncation_of_the_file_do_not_count(tmp_path: Path) -> None:
    padding = {"strategy": {"Fixed": 10**9}, "direction": "Right", "pad_to_multiple_of": 10**9, "pad_id": 0}
    folder = changed(tmp_path, "padding", padding | {"pad_type_id": 0, "pad_token": "[PAD]"})
    assert len(TextTokenizer(folder).encode(["fox"], TextRules(0))[0].ids) == 1


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


def test_the_growth_of_a_map() -> None:
    """Counted as the library does it."""
    for found in ({97: b"x" * 50}, {97: b"b", 98: b"yy" * 20}, {0xC3: b"z" * 30}):
        raw = base64.b64decode(precompiled(found))
        normalizer = normalizers.Precompiled(raw)
        made = {byte: normalizer.normalize_str(chr(byte)) for byte in found if byte < 128}
        assert all(made[byte].encode() == found[byte] for byte in made)
        assert compute_map_growth(precompiled(found)) == max(map(len, found.values()))
    assert compute_map_growth(CHARSMAP) == 11
    assert compute_map_growth(precompiled({})) == 1


def test_added_tokens_without_end(tmp_path: Path) -> None:
    added = [{"id": 0, "content": "x" * 10**6 + "y", "special": True}]
    with pytest.raises(CheckpointError, match="1000001 characters of added tokens"):
        TextTokenizer(changed(tmp_path, "added_tokens", added))


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
