"""Builds the part of an index that lets a scorer search it: the scores of anchor queries for every document."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from ..collection.collection import Collection
from ..documents.judgements import read_queries
from ..documents.lines import read_lines
from ..errors import InputError, NotAnIndex, SettingError
from ..factorised.anchors import AnchorChoice, choose_anchors
from ..factorised.regression import choose_ridge
from ..factorised.scorers import CheckedScorer
from ..factorised.table import FOLDER, PRECISIONS, Numbers, ScoreTable, TableWriter
from ..settings import check_choice, check_whole_number
from .checks import check_query

BLOCK_CALLS = 16_384  # scores of one commit


@dataclass(frozen=True)
class BuildProgress:
    """Calls of the scorer that are done, out of how many, and the seconds that they took in this process."""

    done: int
    total: int
    seconds: float
    done_before: int = 0  # by an earlier process

    @property
    def rate(self) -> float:
        """Calls a second."""
        return (self.done - self.done_before) / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float:
        """At the present rate."""
        return (self.total - self.done) / self.rate if self.rate else float("inf")


Progress = Callable[[BuildProgress], None]


def open_table(collection: Collection) -> ScoreTable | None:
    """The scores of an index; None if it has none."""
    try:
        return ScoreTable.open(collection.path / FOLDER)
    except NotAnIndex:
        if (collection.path / FOLDER).exists():
            raise
        return None


def build_table(
    collection: Collection,
    scorer: CheckedScorer,
    queries: Sequence[str],
    *,
    anchor_items: int = 200,
    anchors: AnchorChoice = "pivots",
    seed: int = 1,
    precision: str = "float32",
    made_of: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> ScoreTable:
    """Score every document that has no scores yet, then choose the anchor items. An interrupted build goes on."""
    wanted = check_whole_number("anchor_items", anchor_items, 1)
    check_choice("precision", precision, PRECISIONS)
    check_choice("anchors", anchors, get_args(AnchorChoice))  # before anything is scored
    given = check_anchor_queries(queries)
    table = open_table(collection)
    if table is None:
        table = ScoreTable.create(collection.path / FOLDER, given, precision, dict(made_of or {}))
    elif table.state.queries != given:
        raise InputError(
            f"{table.folder} was made with {len(table.state.queries)} anchor queries that are not the "
            f"{len(given)} given ones: give the same, or remove the folder to begin anew"
        )
    with table.writing() as writer:
        add_missing_rows(collection, scorer, writer, progress)
        numbers = _read_numbers(collection)
        places = np.flatnonzero(np.isin(writer.table.numbers, numbers))
        rows = writer.table.read()[places]
        chosen = choose_anchors(rows, wanted, anchors, seed)
        ridge = choose_ridge(rows, chosen, seed)
        writer.finish(numbers, [int(number) for number in writer.table.numbers[places][chosen]], ridge)
        return writer.table


def add_missing_rows(
    collection: Collection, scorer: CheckedScorer, writer: TableWriter, progress: Progress | None = None
) -> int:
    """Score the documents that have no scores yet, in blocks; returns how many documents."""
    queries = writer.table.state.queries
    missing = np.setdiff1d(_read_numbers(collection), writer.table.numbers)
    size = max(1, BLOCK_CALLS // len(queries))
    begin, before = time.perf_counter(), len(writer.table.numbers) * len(queries)
    total = before + len(missing) * len(queries)
    done = before
    for start in range(0, len(missing), size):
        block = missing[start : start + size]
        with collection.reading() as reader:
            documents = reader.documents(block.tolist())
        block = np.array([number for number in block.tolist() if number in documents], np.int64)
        texts = [documents[number].full_text for number in block.tolist()]
        rows = np.empty((len(block), len(queries)), np.float32)
        for column, query in enumerate(queries):
            rows[:, column] = scorer.score(query, texts)
            done += len(block)
            if progress:
                progress(BuildProgress(done, total, time.perf_counter() - begin, before))
        if len(block):
            writer.append(block, rows)
    return len(missing)


def check_anchor_queries(queries: Sequence[str]) -> tuple[str, ...]:
    """Refuse no queries, and texts that are none; the same query twice would count twice."""
    if isinstance(queries, str) or not isinstance(queries, Sequence):
        raise InputError(f"anchor_queries is a {type(queries).__name__}, expected a list of texts")
    if not queries:
        raise InputError("there are no anchor queries, expected some: questions as users ask them")
    for query in queries:
        check_query(query)
    return tuple(dict.fromkeys(queries))


def read_anchor_queries(path: Path, most: int, seed: int) -> list[str]:
    """Queries from a file, a text a line or the queries.jsonl[.gz] of BEIR; `most` of them, by the seed (0: all)."""
    check_whole_number("anchor_queries", most, 0)
    is_json = path.name.lower().removesuffix(".gz").endswith(".jsonl")
    texts = list(read_queries(path).values()) if is_json else [line for _, line in read_lines(path)]
    texts = list(dict.fromkeys(text for text in texts if text.strip()))
    check_anchor_queries(texts)
    if not most or len(texts) <= most:
        return texts
    chosen = np.sort(np.random.default_rng(seed).permutation(len(texts))[:most])
    return [texts[number] for number in chosen]


def describe_table(collection: Collection) -> dict[str, Any]:
    """The scores and the anchors of an index."""
    table = open_table(collection)
    with collection.reading() as reader:
        documents = len(reader.read_all_numbers())
    if table is None:
        raise SettingError(f"{collection.path} has no scores of anchor queries: build them (asterism cross build)")
    state = table.state
    return {
        "path": str(collection.path),
        "documents": documents,
        "scored": len(table.numbers),
        "anchor_queries": table.width,
        "anchor_items": len(state.anchors),
        "ridge": state.ridge,
        "precision": state.precision,
        "bytes": table.bytes,
        "model": state.made_of.get("model"),
        "unfinished": not state.anchors,
    }


def _read_numbers(collection: Collection) -> Numbers:
    with collection.reading() as reader:
        return reader.read_all_numbers()
