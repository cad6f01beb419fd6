"""Several indexes that are searched as one: each answers the query, and the answers are merged by their scores."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..collection.snapshot import Snapshot
from ..errors import InputError
from ..factorised.scorers import Scorer
from ..results import Hit, Ranking
from ..settings import HybridSearch, TokenSearch, check_whole_number
from ..views.lexical.searcher import LexicalSearcher
from .comparable import choose_comparable
from .retriever import Retriever
from .search_runner import SearchSettings


class ManyIndexes:
    """Open indexes that are searched together. Made by `open_many`; `indexes` has each by the path that was given."""

    def __init__(self, indexes: Mapping[str, Retriever]) -> None:
        """Use `open_many`."""
        self.indexes = dict(indexes)

    def search(
        self,
        query: str,
        k: int = 10,
        *,
        offset: int = 0,
        method: str | None = None,
        filter: Mapping[str, Any] | None = None,
        settings: TokenSearch | HybridSearch | None = None,
        rerank: Scorer | None = None,
        depth: int = 100,
    ) -> Ranking:
        """The k best documents of all indexes; `hit.index` says which. See `Retriever.search` for the arguments.

        Scores must be comparable, so hybrid search gives calibrated ones, and BM25 takes its statistics from all
        indexes together. "colbert", "exact", "dense" and the terms of a model need the same model everywhere; "xtr"
        and fusions other than "standard" have scores that mean something within one index only, and are refused.
        rerank: the scorer orders the `depth` best of each index.
        """
        if rerank is None:
            return self.search_many(
                [query], k, offset=offset, method=method, filter=filter, settings=settings, threads=1
            )[0]
        wanted = check_whole_number("k", k, 1) + check_whole_number("offset", offset, 0)
        asked: dict[str, Any] = {"method": method, "filter": filter, "settings": settings}
        rankings = {
            path: index.search(query, wanted, **asked, rerank=rerank, depth=depth)
            for path, index in self.indexes.items()
        }
        return _merge(query, rankings, k, offset)

    def search_many(
        self,
        queries: Sequence[str],
        k: int = 10,
        *,
        offset: int = 0,
        method: str | None = None,
        filter: Mapping[str, Any] | None = None,
        settings: TokenSearch | HybridSearch | None = None,
        threads: int = 0,
    ) -> list[Ranking]:
        """One ranking per query, as from `search`; see `Retriever.search_many` for the arguments."""
        wanted = check_whole_number("k", k, 1) + check_whole_number("offset", offset, 0)
        chosen = choose_comparable(self.indexes, method, settings)
        found: dict[str, list[Ranking]] = {}
        for path, index in self.indexes.items():
            prepare = self._count_words_of_all(path) if chosen.counts_words else _leave
            own: SearchSettings = chosen.settings[path]
            search = index.runner.search_many
            found[path] = search(queries, wanted, chosen.method, filter, own, threads, prepare=prepare)
        return [
            _merge(query, {path: rankings[number] for path, rankings in found.items()}, k, offset)
            for number, query in enumerate(queries)
        ]

    def _count_words_of_all(self, path: str) -> Callable[[Snapshot], Snapshot]:
        """Let the state of one index be searched with the statistics of all: as if they were one index."""
        others = [index.collection.snapshot() for other, index in self.indexes.items() if other != path]
        counted = [one.lexical.statistics for one in others if one.lexical is not None]

        def prepare(snapshot: Snapshot) -> Snapshot:
            own = snapshot.lexical
            return (
                snapshot
                if own is None
                else replace(snapshot, lexical=LexicalSearcher(own.path, own.segments, own.statistics.join(counted)))
            )

        return prepare

    def __len__(self) -> int:
        """Documents of all indexes."""
        return sum(len(index) for index in self.indexes.values())

    def __repr__(self) -> str:
        """The paths."""
        return f"<ManyIndexes {list(self.indexes)}>"

    def close(self) -> None:
        """Close all indexes."""
        for index in self.indexes.values():
            index.close()

    def __enter__(self) -> ManyIndexes:
        """For use in a with statement."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()


def open_many(paths: Iterable[str | os.PathLike[str]], model: str | os.PathLike[str] | None = None) -> ManyIndexes:
    """Open several indexes to search them as one; those of the same model share it.

    model: its location, if it was moved; then all must have the same.
    """
    if isinstance(paths, str | os.PathLike) or not isinstance(paths, Iterable):
        raise InputError(f"paths is {paths!r}, expected a list of folders")
    opened: dict[str, Retriever] = {}
    try:
        for path in paths:
            index = Retriever.open(path, model)
            opened_before = [other for other, one in opened.items() if one.path.samefile(index.path)]
            if opened_before:
                index.close()
                raise InputError(f"{os.fspath(path)} was given twice, expected every index once")
            opened[os.fspath(path)] = index
        if not opened:
            raise InputError("no indexes were given, expected at least one folder")
        _share_encoders(opened.values())
    except BaseException:
        for index in opened.values():
            index.close()
        raise
    return ManyIndexes(opened)


def _share_encoders(indexes: Iterable[Retriever]) -> None:
    """Load every model once."""
    first: dict[str, Retriever] = {}
    for index in indexes:
        model = json.dumps(index.collection.facts("model"), sort_keys=True)
        if first.setdefault(model, index) is not index:
            index.share_encoder(first[model])


def _leave(snapshot: Snapshot) -> Snapshot:
    return snapshot


def _merge(query: str, rankings: Mapping[str, Ranking], k: int, offset: int) -> Ranking:
    """The best hits of all, by score; at equal scores in the order of the indexes."""
    hits = [replace(hit, index=path) for path, ranking in rankings.items() for hit in ranking]
    hits.sort(key=lambda hit: -hit.score)  # stable
    page = hits[offset : offset + k]
    timings: dict[str, float] = {}
    for ranking in rankings.values():
        for stage, seconds in ranking.timings.items():
            timings[stage] = timings.get(stage, 0.0) + seconds
    calls = [ranking.calls for ranking in rankings.values() if ranking.calls is not None]
    ranked: list[Hit] = [replace(hit, rank=rank) for rank, hit in enumerate(page, offset + 1)]
    method = next(iter(rankings.values())).method
    return Ranking(query, method, tuple(ranked), timings, sum(calls) if calls else None)
