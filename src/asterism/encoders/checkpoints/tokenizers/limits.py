"""What a tokenizer.json may contain: steps that cannot make a short text very long.

The library runs all steps that a file lists. Four replacements of one letter by a thousand make a terabyte of one
letter, and the process dies: if Rust cannot allocate memory, it aborts instead of raising an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ....errors import CheckpointError
from ..settings import shorten
from .charsmap import compute_map_growth

MOST_STEPS = 32  # per section
DEEPEST = 4  # levels of nested sequences
MOST_GROWTH = 256  # bytes made of one byte; 176 for T5 and XLM-R, by the bounds below
LONGEST_STRING = 4096  # characters of a pattern, a replacement, a prefix
MOST_PIECES = 64  # of a template, and ids of each piece
LONGEST_WORD = 1000  # characters of a word that WordPiece splits in quadratic time; 100 in all published files

# Sections, the key that holds the steps of a sequence in them, and the known steps.
SECTIONS = {
    "normalizer": (
        "normalizers",
        "BertNormalizer ByteLevel Lowercase NFC NFD NFKC NFKD Nmt Precompiled Prepend Replace Strip StripAccents",
    ),
    "pre_tokenizer": (
        "pretokenizers",
        "BertPreTokenizer ByteLevel CharDelimiterSplit Digits Metaspace Punctuation Split UnicodeScripts Whitespace "
        "WhitespaceSplit",
    ),
    "post_processor": ("processors", "BertProcessing ByteLevel RobertaProcessing TemplateProcessing"),
    "decoder": ("decoders", "BPEDecoder ByteFallback ByteLevel CTC Fuse Metaspace Replace Strip WordPiece"),
}
PUT_IN = {"Replace": "content", "Prepend": "prepend", "Metaspace": "replacement"}  # the key of what they insert
MODELS = ("BPE", "Unigram", "WordLevel", "WordPiece")


def check_tokenizer(content: Any, file: Path) -> None:
    """Refuse steps that are dangerous and that no published tokenizer has; the library checks the rest."""
    if not isinstance(content, dict) or not isinstance(content.get("model"), dict):
        raise CheckpointError(f"{file} has no model, expected a tokenizer.json")
    steps = {section: list(_list_steps(content.get(section), section, file)) for section in SECTIONS}
    for growth in (
        math.prod(_compute_growth(step, file) for step in steps["normalizer"] + steps["pre_tokenizer"]),
        math.prod(_count_repeats(step) for step in steps["post_processor"]),
    ):
        if growth > MOST_GROWTH:
            raise CheckpointError(
                f"{file} has steps that make a text up to {growth} times as long, expected at most {MOST_GROWTH} times"
            )
    _check_model(content["model"], file)


def _list_steps(value: Any, section: str, file: Path) -> Iterator[Mapping[str, Any]]:
    """The single steps of a section, including those inside sequences."""
    inner, known = SECTIONS[section]
    level, steps = [] if value is None else [value], 0
    for _ in range(DEEPEST):
        following = []
        for step in level:
            steps += 1
            if not isinstance(step, dict) or steps > MOST_STEPS:
                raise CheckpointError(f"{file}: {section} is not a list of at most {MOST_STEPS} steps")
            if step.get("type") == "Sequence" and isinstance(step.get(inner), list):
                following += step[inner]
            elif step.get("type") in known.split():
                _check_values(step, section, file)
                yield step
            else:
                raise CheckpointError(f"{file}: {section} has {shorten(step.get('type'))}, expected one of {known}")
        level = following
    if level:
        raise CheckpointError(f"{file}: {section} is nested too deeply, expected at most {DEEPEST} levels")


def _check_values(step: Mapping[str, Any], section: str, file: Path) -> None:
    """Refuse long strings and lists at any level."""
    values: list[Any] = [value for name, value in step.items() if name != "precompiled_charsmap"]
    for _ in range(2 * DEEPEST):
        if any(isinstance(value, str) and len(value) > LONGEST_STRING for value in values):
            raise CheckpointError(f"{file}: {section} has a string of more than {LONGEST_STRING} characters")
        if any(isinstance(value, list) and len(value) > MOST_PIECES for value in values):
            raise CheckpointError(f"{file}: {section} has a list of more than {MOST_PIECES} values")
        values = [
            inner
            for value in values
            if isinstance(value, dict | list)
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
    if values:
        raise CheckpointError(f"{file}: {section} is nested too deeply")


def _compute_growth(step: Mapping[str, Any], file: Path) -> int:
    """The most bytes that a step can make of one byte; 1 for steps where the file has no influence on it."""
    kind = step["type"]
    if kind == "Precompiled":
        return _compute_map_growth(step.get("precompiled_charsmap"), file)
    if kind == "ByteLevel":
        return 4 if step.get("add_prefix_space") else 2
    if kind not in PUT_IN:
        return 1
    size = len(str(step.get(PUT_IN[kind])).encode("utf-8", "replace"))
    pattern = step.get("pattern") if kind == "Replace" else None
    if isinstance(pattern, dict) and isinstance(pattern.get("String"), str) and pattern["String"]:
        return max(1, math.ceil(size / len(pattern["String"].encode("utf-8", "replace"))))
    return 1 + size  # inserted before each piece, or for an empty match


def _compute_map_growth(charsmap: Any, file: Path) -> int:
    try:
        return 1 if charsmap is None else compute_map_growth(charsmap)
    except ValueError as error:
        raise CheckpointError(f"{file} has a precompiled_charsmap that cannot be used: {error}") from error


def _count_repeats(step: Mapping[str, Any]) -> int:
    """How many times a template can repeat a text."""
    return max([1, *(len(step[name]) for name in ("single", "pair") if isinstance(step.get(name), list | str))])


def _check_model(model: Mapping[str, Any], file: Path) -> None:
    if "type" in model and model["type"] not in MODELS:  # the first versions of the library wrote no type
        raise CheckpointError(f"{file} has a model {shorten(model.get('type'))}, expected one of {', '.join(MODELS)}")
    longest = model.get("max_input_chars_per_word", 100)
    if type(longest) is not int or not 0 <= longest <= LONGEST_WORD:
        raise CheckpointError(
            f"{file}: max_input_chars_per_word is {shorten(longest)}, expected a whole number from 0 to {LONGEST_WORD}"
        )
    for name in ("continuing_subword_prefix", "end_of_word_suffix", "unk_token"):
        value = model.get(name)
        if value is not None and (not isinstance(value, str) or len(value) > LONGEST_STRING):
            raise CheckpointError(f"{file}: {name} is {shorten(value)}, expected a short string")
