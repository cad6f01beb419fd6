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
from ..errors import IndexExists, InputError
from ..factorised.anchors import AnchorChoice, choose_anchors
from ..factorised.regression import choose_ridge
from ..factorised.scorers import CheckedScorer
from ..factorised.table import FOLDER, MOST_QUERIES, PRECISIONS, ScoreTable, TableWriter
from ..settings import check_choice, check_whole_number
from ..storage.faults import damaged
from .checks import check_query
from .cross_tables import check_scorer, open_table, read_numbers

BLOCK_CALLS = 16_384  # most scores of one commit
FIRST_CALLS = 2_048  # scores of the first commits: a scorer may be slow, or paid for
GROWTH = 64  # blocks grow with the table, so that there are few of them


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
    check_choice("anchors", anchors, get_args(AnchorChoice))
    check_whole_number("seed", seed, 0)  # before anything is scored
    given = check_anchor_queries(queries)
    table = _open_or_create(collection, given, precision, dict(made_of or {}))
    with table.writing() as writer:
        add_missing_rows(collection, scorer, writer, progress)
        writer.table.verify()  # anchors are chosen by the scores
        numbers = read_numbers(collection)
        places = np.flatnonzero(np.isin(writer.table.numbers, numbers))
        rows = writer.table.read()
        rows = rows if len(places) == len(rows) else rows[places]
        chosen = choose_anchors(rows, wanted, anchors, seed)
        ridge = choose_ridge(rows, chosen, seed)
        writer.finish(numbers, [int(number) for number in writer.table.numbers[places][chosen]], ridge)
        return writer.table


def _open_or_create(
    collection: Collection, queries: tuple[str, ...], precision: str, made_of: dict[str, Any]
) -> ScoreTable:
    """The table of an index; one that was begun with another scorer, other queries or another precision is refused."""
    check_scorer(collection, made_of)
    table = open_table(collection)
    if table is None:
        try:
            return ScoreTable.create(collection.path / FOLDER, queries, precision, made_of)
        except IndexExists:  # another process was faster
            table = ScoreTable.open(collection.path / FOLDER)
            check_scorer(collection, made_of)
    state, otherwise = table.state, "or remove the folder to begin anew"
    if state.queries != queries:
        raise InputError(
            f"{table.folder} was made with {len(state.queries)} anchor queries that are not the "
            f"{len(queries)} given ones: give the same, {otherwise}"
        )
    if state.precision != precision:
        raise InputError(f"{table.folder} holds {state.precision}, but {precision} is wanted: give that, {otherwise}")
    return table


def add_missing_rows(
    collection: Collection, scorer: CheckedScorer, writer: TableWriter, progress: Progress | None = None
) -> int:
    """Score the documents that have no scores yet, in blocks; returns how many documents."""
    queries = writer.table.state.queries
    scored = writer.table.numbers
    if len(scored) and scored[-1] >= collection.snapshot().state.next_number:
        raise damaged(writer.table.folder, "has scores of documents that the index does not have yet")
    missing = np.setdiff1d(read_numbers(collection), scored)
    begin, before = time.perf_counter(), len(scored) * len(queries)
    total = before + len(missing) * len(queries)
    done, start = before, 0
    while start < len(missing):
        block = missing[start : start + _choose_size(writer.table)]
        start += len(block)
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


def _choose_size(table: ScoreTable) -> int:
    """Documents of the next block. It depends on the table alone: a resumed build has the blocks of another."""
    rows = max(FIRST_CALLS // table.width, len(table.numbers) // GROWTH)
    return max(1, min(rows, BLOCK_CALLS // table.width))


def check_anchor_queries(queries: Sequence[str]) -> tuple[str, ...]:
    """Refuse no queries, and texts that are none; the same query twice would count twice."""
    if isinstance(queries, str) or not isinstance(queries, Sequence):
        raise InputError(f"anchor_queries is a {type(queries).__name__}, expected a list of texts")
    if not queries:
        raise InputError("there are no anchor queries, expected some: questions as users ask them")
    for query in queries:
        check_query(query)
    found = tuple(dict.fromkeys(queries))
    if len(found) > MOST_QUERIES:
        raise InputError(f"there are {len(found):,} anchor queries, expected at most {MOST_QUERIES:,}: give fewer")
    return found


def read_anchor_queries(path: Path, most: int, seed: int) -> list[str]:
    """Queries from a file, a text a line or the queries.jsonl[.gz] of BEIR; `most` of them, by the seed (0: all)."""
    check_whole_number("anchor_queries", most, 0)
    check_whole_number("seed", seed, 0)
    is_json = path.name.lower().removesuffix(".gz").endswith(".jsonl")
    texts = list(read_queries(path).values()) if is_json else [line for _, line in read_lines(path)]
    texts = list(dict.fromkeys(text for text in texts if text.strip()))
    if most and len(texts) > most:
        chosen = np.sort(np.random.default_rng(seed).permutation(len(texts))[:most])
        texts = [texts[number] for number in chosen]
    check_anchor_queries(texts)
    return texts
