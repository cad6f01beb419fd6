"""tokenizer.json files whose steps blow up a short text, or fail inside the library."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from random import Random
from typing import Any

from .hostile_json import RAW, change_values, write

Json = dict[str, Any]


def replacing(pattern: str, content: str, kind: str = "String") -> Json:
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def sequence_of(*steps: Any, key: str = "normalizers") -> Json:
    return {"type": "Sequence", key: list(steps)}


def nested(step: Json, times: int, key: str = "normalizers") -> Json:
    for _ in range(times):
        step = sequence_of(step, key=key)
    return step


def with_map(raw: bytes) -> Json:
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(raw).decode()}


THOUSAND = replacing("a", "a" * 1000)
SPLIT = {"type": "Split", "pattern": {"Regex": ""}, "behavior": "Isolated", "invert": False}
BYTES = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": False}
PIECE = {"Sequence": {"id": "A", "type_id": 0}}
MANY = {"SpecialToken": {"id": "[CLS]", "type_id": 0}}


def template(pieces: list[Json], ids: int) -> Json:
    token = {"id": "[CLS]", "ids": [1] * ids, "tokens": ["[CLS]"] * ids}
    return {"type": "TemplateProcessing", "single": pieces, "pair": pieces, "special_tokens": {"[CLS]": token}}


NORMALIZERS: list[Any] = [
    sequence_of(THOUSAND, THOUSAND, THOUSAND, THOUSAND),
    sequence_of(replacing("", "x" * 3000, "Regex"), replacing("x", "y" * 3000)),
    sequence_of(*[{"type": "Prepend", "prepend": "▁" * 500}] * 3),
    sequence_of(*[replacing("(?=.)", "xx", "Regex")] * 30),
    sequence_of(*[{"type": "ByteLevel"}] * 40),
    replacing("(a|aa)+$|(.*)*!", "b", "Regex"),
    replacing("(" * 5000, "b", "Regex"),
    replacing("a", "b" * 10**6),
    nested(THOUSAND, 60),
    sequence_of(*[{"type": "NFKD"}] * 100_000),
    with_map(b"\4\0\0\0\xff\xff\xff\xff" + b"x" * 100_000),
    with_map(b"\xff\xff\xff\xff"),
    with_map(b"\4\0\0\0\xff\xff\xff\xffabc\0"),
    {"type": "Precompiled", "precompiled_charsmap": "ä"},
    {"pattern": {"String": "a"}, "content": "b" * 1000},
    {"type": ["Replace"]},
    {"type": "BertNormalizer"},
]
PRE_TOKENIZERS: list[Any] = [
    sequence_of(SPLIT, *[BYTES] * 20, key="pretokenizers"),
    sequence_of(
        *[{"type": "Metaspace", "replacement": "\U0001f98a", "prepend_scheme": "always", "split": True}] * 12,
        key="pretokenizers",
    ),
    {"type": "Metaspace", "replacement": "abc", "prepend_scheme": "always"},
    nested(SPLIT, 90, "pretokenizers"),
    {"type": "FixedLength", "length": 0},
    {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False},
    {"type": "Split", "pattern": {"Regex": "((((.{900}){900}){900}){900})*"}, "behavior": "Removed", "invert": True},
]
POST_PROCESSORS: list[Any] = [
    template([PIECE] * 100_000, 1),
    template([MANY] * 3000, 3000),
    sequence_of(*[template([PIECE] * 60, 1)] * 6, key="processors"),
    template([MANY, PIECE], 100_000),
    template([], 1),
    template([MANY], 1),
    nested(template([PIECE], 1), 100, "processors"),
]
MODELS: list[Json] = [
    {"max_input_chars_per_word": 10**12},
    {"max_input_chars_per_word": -1},
    {"continuing_subword_prefix": "#" * 10**6},
    {"vocab": {}},
    {"vocab": []},
    {"vocab": {"[UNK]": 2**32 - 1, "a": 0}},
    {"vocab": {"[UNK]": 2**40}},
    {"vocab": [["<unk>", 0.0], ["", -1.0], ["a", -2.0]], "unk_id": 0},
    {"vocab": [["<unk>", 0.0]], "unk_id": 10**6},
    {"type": "Unigram", "vocab": [["<unk>", 0.0], ["x" * 10**6, -1.0]], "unk_id": 0},
    {"type": "Unigram", "vocab": [["<unk>", 0.0], *([f"{i:0250}"[::-1], -1.0] for i in range(9000))], "unk_id": 0},
    {"vocab": [["<unk>", RAW + "1e999"], ["a", 1e308]], "unk_id": 0},
    {"type": "Unigram"},
    {"type": "WordLevel"},
    {"type": "BPE", "merges": [["a", "b"]]},
    {"type": "Nonsense"},
    {"unk_token": "not-there"},
    {"unk_id": None},
]
WHOLE: list[Json] = [
    {"padding": {"strategy": {"Fixed": 10**9}, "direction": "Right", "pad_to_multiple_of": 10**9, "pad_id": 0}},
    {"truncation": {"max_length": 0, "strategy": "LongestFirst", "stride": 10**9, "direction": "Right"}},
    {"added_tokens": [{"id": 2**32 - 1, "content": "a", "special": True, "normalized": False}]},
    {"added_tokens": [{"id": i, "content": "", "special": True} for i in range(3)]},
    {"added_tokens": [{"id": i, "content": f"{i}" * 1000, "special": True} for i in range(9000)]},
    {"decoder": nested({"type": "Fuse"}, 100, "decoders")},
    {"model": None},
]


def hostile_tokenizer(folder: Path, rng: Random) -> str:
    file = rng.choice(sorted(folder.rglob("tokenizer.json")) or [folder / "tokenizer.json"])
    if not file.exists():
        (folder / "vocab.txt").write_text(
            rng.choice(["", "a", "[UNK]\n" * 10**5, "\0", "[UNK]\n[CLS]\n[SEP]\n[PAD]\n"])
        )
        return "vocab.txt"
    kind = rng.choice(["normalizer", "normalizer", "pre_tokenizer", "post_processor", "model", "whole", "any", "any"])
    if kind == "any":
        return f"tokenizer.json: {change_values(file, rng)}"
    content = json.loads(file.read_text(encoding="utf-8"))
    choices = {
        "normalizer": NORMALIZERS,
        "pre_tokenizer": PRE_TOKENIZERS,
        "post_processor": POST_PROCESSORS,
        "model": MODELS,
        "whole": WHOLE,
    }[kind]
    number = rng.randrange(len(choices))
    if kind == "whole":
        content.update(choices[number])
    elif kind == "model":
        content["model"].update(choices[number])
    else:
        content[kind] = choices[number]
    write(file, content)
    return f"tokenizer.json: {kind} {number}"
