"""Training examples as JSON lines: query, pos, neg, pos_scores, neg_scores."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..documents.jsonl import name_json_type, parse_object
from ..documents.lines import read_lines
from ..errors import DocumentError, InputError
from ..files.whole_files import stream_whole_file
from .training_set import TrainingSet, TrainingSetMaker, check_training_text

SUFFIX = ".jsonl"
LARGEST_SCORE = float(np.finfo(np.float32).max)  # what losses are computed with


def read_example_lines(path: str | os.PathLike[str]) -> TrainingSet:
    """One example a line: `query`, `pos`, and optionally `neg`, `pos_scores`, `neg_scores`. Other keys are not read.

    `pos` and `neg` are lists of texts, or one text; the scores have the same lengths. Raises at the first bad line.
    """
    maker = TrainingSetMaker()
    for where, line in read_lines(path):
        _add_example(maker, where, parse_object(where, line))
    training = maker.make()
    if not training.examples:
        raise DocumentError(f"{os.fspath(path)} has no examples, expected one JSON object per line with query and pos")
    return training


def write_training_set(training: TrainingSet, file: str | os.PathLike[str]) -> None:
    """Write the examples in the form that `read_example_lines` reads; the file appears whole or not at all.

    Scores are read back exactly. Passages that no example uses are not written.
    """
    if not os.fspath(file).lower().endswith(SUFFIX):
        raise InputError(
            f"{os.fspath(file)} does not end in {SUFFIX}, expected such a name: training reads it by its name"
        )
    with stream_whole_file(Path(file)) as write:
        write(_format_lines(training))


def _format_lines(training: TrainingSet) -> Iterator[bytes]:
    for example in training.examples:
        record: dict[str, Any] = {"query": training.queries[example.query]}
        for key, numbers in (("pos", example.positives), ("neg", example.negatives)):
            if numbers:
                record[key] = [training.passages[number] for number in numbers]
                if example.scores:
                    record[f"{key}_scores"] = [float(example.scores[number]) for number in numbers]
        yield json.dumps(record, ensure_ascii=False).encode() + b"\n"


def _add_example(maker: TrainingSetMaker, where: str, record: dict[str, Any]) -> None:
    """Check a line and add it."""
    for key in ("query", "pos"):
        if key not in record:
            raise DocumentError(f"{where}: the object has no {key!r}, expected an object with 'query' and 'pos'")
    query = record["query"]
    _check_text(where, "query", query)
    texts: dict[str, list[str]] = {key: _read_texts(where, key, record[key]) for key in ("pos", "neg") if key in record}
    for key, found in texts.items():
        if query in found:
            raise DocumentError(f"{where}: the query is its own document: {key!r} has the same text, expected another")
    positives, negatives = texts["pos"], texts.get("neg", [])
    if not set(positives).isdisjoint(negatives):
        both = next(text for text in negatives if text in positives)
        raise DocumentError(f"{where}: a text is both in 'pos' and in 'neg', expected it in one: {both[:60]!r}")
    maker.add_example(query, positives, negatives, _read_scores(where, record, texts))


def _read_texts(where: str, key: str, value: object) -> list[str]:
    """A list of texts, or one text."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list):
        raise DocumentError(f"{where}: {key!r} is {name_json_type(value)}, expected a list of texts")
    if not texts:
        advice = "expected at least one positive" if key == "pos" else "expected at least one text, or no 'neg'"
        raise DocumentError(f"{where}: {key!r} is an empty list, {advice}")
    for number, text in enumerate(texts):
        _check_text(where, f"{key}[{number}]" if isinstance(value, list) else key, text)
    return texts


def _check_text(where: str, place: str, value: object) -> None:
    if not isinstance(value, str):
        raise DocumentError(f"{where}: {place} is {name_json_type(value)}, expected a text")
    check_training_text(where, place, value)


def _read_scores(where: str, record: dict[str, Any], texts: dict[str, list[str]]) -> dict[str, float]:
    """Text -> score, for all texts or for none."""
    given = [name for name in ("pos_scores", "neg_scores") if name in record]
    if not given:
        return {}
    wanted = [f"{key}_scores" for key in texts]
    if given != wanted:
        raise DocumentError(
            f"{where}: the object has {' and '.join(given)}, expected {' and '.join(wanted)}, or no scores: "
            "a teacher scores all texts of a line"
        )
    found: dict[str, float] = {}
    for name, listed in zip(given, texts.values(), strict=True):
        for text, score in zip(listed, _read_numbers(where, name, record[name], listed), strict=True):
            if found.setdefault(text, score) != score:
                raise DocumentError(f"{where}: {name} has two scores for one text, expected one: {text[:60]!r}")
    return found


def _read_numbers(where: str, name: str, value: object, texts: Sequence[str]) -> list[float]:
    """As many finite numbers as texts."""
    numbers = [value] if isinstance(value, int | float) and len(texts) == 1 else value
    if not isinstance(numbers, list):
        raise DocumentError(f"{where}: {name} is {name_json_type(value)}, expected a list of numbers")
    if len(numbers) != len(texts):
        raise DocumentError(f"{where}: {name} has {len(numbers)} numbers for {len(texts)} texts, expected one for each")
    found = []
    for place, number in enumerate(numbers):
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise DocumentError(f"{where}: {name}[{place}] is {name_json_type(number)}, expected a number")
        try:
            found.append(float(number))
        except OverflowError:  # an integer of hundreds of digits
            found.append(math.inf)
        if not math.isfinite(found[-1]):
            raise DocumentError(f"{where}: {name}[{place}] is not finite, expected a finite number")
        if abs(found[-1]) > LARGEST_SCORE:
            raise DocumentError(f"{where}: {name}[{place}] is {found[-1]:g}, expected at most {LARGEST_SCORE:g}")
    return found
