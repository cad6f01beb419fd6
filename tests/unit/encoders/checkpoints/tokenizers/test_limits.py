"""tokenizer.json files: the published ones load, those that would hurt do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from asterism.encoders.checkpoints.tokenizers.limits import check_tokenizer
from asterism.encoders.tokens import TextTokenizer
from asterism.errors import CheckpointError
from tests.faults import hostile_tokenizers as hostile

from .tokenizer_files import CHARSMAP, changed

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


@pytest.mark.parametrize("name", PUBLISHED)
def test_steps_of_published_tokenizers(name: str) -> None:
    normalizer, pre_tokenizer, post_processor = PUBLISHED[name]
    content = {"normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "post_processor": post_processor}
    check_tokenizer({**content, "decoder": None, "model": {"type": "BPE"}}, Path("tokenizer.json"))


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
