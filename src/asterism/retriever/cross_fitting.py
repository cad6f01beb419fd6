"""Fits the dense vectors of an index to a scorer: the best documents of an ordinary search for some queries are scored.

AXN's factorisation. Calls grow with the queries and not with the documents, unlike anchor scores.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..collection.collection import Collection
from ..collection.snapshot import Snapshot, positions
from ..errors import IndexExists, InputError, SettingError
from ..factorised.fitting import Pairs, fit_vectors
from ..factorised.pairs import FOLDER, Floats, Numbers, PairTable, PairWriter
from ..factorised.scorers import CheckedScorer
from ..settings import check_whole_number
from .cross_building import BLOCK_CALLS, FIRST_CALLS, GROWTH, BuildProgress, Progress, check_anchor_queries
from .cross_tables import check_scorer, open_pairs, read_numbers
from .search_runner import SearchRunner

ENCODED = 64  # queries that are encoded and searched together
MOST_DOCUMENTS = 1 << 16  # for one query


def fit_index(
    collection: Collection,
    runner: SearchRunner,
    scorer: CheckedScorer,
    queries: Sequence[str],
    *,
    depth: int,
    seed: int = 1,
    made_of: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> PairTable:
    """Score the `depth` best documents of each query that are not scored yet, then fit the dense vectors to all pairs.

    An interrupted build goes on. Called again when documents have changed, it scores what is new.
    """
    wanted = check_whole_number("sparse", depth, 1, MOST_DOCUMENTS)
    check_whole_number("seed", seed, 0)
    given = check_anchor_queries(queries)
    if "dense" not in collection.views().names:
        raise SettingError(f"{collection.path} has no dense vectors to fit: build it with a model that has them")
    with _open_or_create(collection, given, dict(made_of or {})).writing() as writer:
        missing = _find_missing(collection, runner, writer.table, wanted)
        _score(collection, scorer, writer, missing, progress)
        numbers = read_numbers(collection)
        if missing or writer.table.state.fit is None or not np.isin(writer.table.documents, numbers).all():
            _fit(collection, runner, writer, numbers, seed)
        return writer.table


def _open_or_create(collection: Collection, queries: tuple[str, ...], made_of: dict[str, Any]) -> PairTable:
    """The table of an index; one that was begun with another scorer or other queries is refused."""
    check_scorer(collection, made_of)
    table = open_pairs(collection)
    if table is None:
        try:
            return PairTable.create(collection.path / FOLDER, queries, made_of)
        except IndexExists:  # another process was faster
            table = PairTable.open(collection.path / FOLDER)
            check_scorer(collection, made_of)
    if table.state.queries != queries:
        raise InputError(
            f"{table.folder} was made with {len(table.state.queries)} queries that are not the {len(queries)} given "
            "ones: give the same, or remove the folder to begin anew"
        )
    return table


def _find_missing(
    collection: Collection, runner: SearchRunner, table: PairTable, depth: int
) -> list[tuple[int, list[int]]]:
    """The places of queries with the numbers of their best documents that are not scored yet, best first."""
    known = set(zip(table.queries.tolist(), table.documents.tolist(), strict=True))
    plan, queries, snapshot = runner.plan(None, None), table.state.queries, collection.snapshot()
    missing = []
    for start in range(0, len(queries), ENCODED):
        encoded = runner.encode(queries[start : start + ENCODED], plan)
        found = plan.search(snapshot, encoded, min(depth, max(1, len(snapshot.numbers))), snapshot.kept, 1).ids
        for query, places in enumerate(found, start):
            numbers = snapshot.numbers[places[places >= 0]].tolist()
            new = [number for number in numbers if (query, number) not in known]
            missing += [(query, new)] if new else []
    return missing


def _score(
    collection: Collection,
    scorer: CheckedScorer,
    writer: PairWriter,
    missing: Sequence[tuple[int, list[int]]],
    progress: Progress | None,
) -> None:
    """Score pairs in blocks of whole queries, so that a resumed build has the blocks of another."""
    begin, before = time.perf_counter(), len(writer.table.scores)
    total = before + sum(len(numbers) for _, numbers in missing)
    done, waiting = before, iter(missing)
    while block := list(_take(waiting, _choose_calls(writer.table))):
        rows: list[tuple[Numbers, Numbers, Floats]] = []
        for query, numbers in block:
            with collection.reading() as reader:
                documents = reader.documents(numbers)
            there = [number for number in numbers if number in documents]  # others were deleted since
            found = scorer.score(writer.table.state.queries[query], [documents[one].full_text for one in there])
            rows.append((np.full(len(there), query, np.int64), np.array(there, np.int64), found))
            done += len(numbers)
            if progress:
                progress(BuildProgress(done, total, time.perf_counter() - begin, before))
        queries, scored, scores = (np.concatenate(column) for column in zip(*rows, strict=True))
        if len(scores):
            writer.append(queries, scored, scores)


def _choose_calls(table: PairTable) -> int:
    """Calls of the next block; they depend on the table alone."""
    return min(max(FIRST_CALLS, len(table.scores) // GROWTH), BLOCK_CALLS)


def _take(missing: Iterator[tuple[int, list[int]]], calls: int) -> Iterator[tuple[int, list[int]]]:
    """The next queries, until they have as many pairs."""
    taken = 0
    while taken < calls and (one := next(missing, None)) is not None:
        taken += len(one[1])
        yield one


def _fit(collection: Collection, runner: SearchRunner, writer: PairWriter, kept: Numbers, seed: int) -> None:
    """Fit the vectors of all documents that have pairs, and store them."""
    snapshot, table = collection.snapshot(), writer.table
    numbers = np.intersect1d(np.intersect1d(table.documents, kept), snapshot.numbers)
    if not len(numbers):
        writer.finish(numbers, numbers, np.empty((0, 0), np.float32), (1.0, 1.0))
        return
    own = runner.encode(table.state.queries, runner.plan("dense", None)).dense
    items = gather_dense(snapshot)[positions(snapshot.numbers, numbers)]
    there = np.isin(table.documents, numbers)
    places = np.searchsorted(numbers, table.documents[there])
    fit = fit_vectors(items, np.asarray(own), Pairs(places, table.queries[there], table.scores[there]), seed)
    writer.finish(numbers, numbers, fit.vectors, (fit.error_before, fit.error_after))


def gather_dense(snapshot: Snapshot) -> Floats:
    """(n, d) the dense vectors by place."""
    parts = [np.asarray(stored.dense.vectors, np.float32) for stored in snapshot.segments if stored.dense is not None]
    return np.concatenate(parts)
