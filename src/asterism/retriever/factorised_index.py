"""An index that is searched by a scorer itself: items, their words, and the scores of anchor queries."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from ..collection.collection import Collection
from ..collection.kept_views import Views
from ..documents.document import Document
from ..errors import IndexExists, InputError, SettingError
from ..factorised.anchors import AnchorChoice
from ..factorised.scorers import Asking, CheckedScorer, Scorer
from ..results import Ranking
from ..settings import CrossMethod, CrossSearch, TermCounting, check_whole_number
from .batches import split_batches
from .checks import check_kind
from .cross_building import Progress, add_missing_rows, build_table, check_anchor_queries
from .cross_fitting import fit_index
from .cross_tables import describe_tables, open_table
from .jobs import describe_job, finish_job, read_job, start_job
from .retriever import Retriever


class FactorisedIndex:
    """Searches by a scorer within a budget of calls. Made by `build` and `open`."""

    def __init__(self, retriever: Retriever, scorer: Scorer, asking: Asking | None = None) -> None:
        """Use `build` or `open`; or give an index of your own whose documents are the items."""
        self.retriever = retriever
        self._scorer = CheckedScorer(scorer, asking)

    @classmethod
    def build(
        cls,
        scorer: Scorer,
        items: Iterable[str | Document],
        anchor_queries: Sequence[str],
        path: str | os.PathLike[str],
        *,
        anchor_items: int = 200,
        anchors: AnchorChoice = "pivots",
        seed: int = 1,
        precision: str = "float32",
        model: str | os.PathLike[str] | None = None,
        sparse: int = 0,
        asking: Asking | None = None,
        progress: Progress | None = None,
    ) -> FactorisedIndex:
        """Index the items, and score all of them for each anchor query: as many calls as items times queries.

        items: texts, whose ids are their positions, or Documents. anchor_queries: queries as they will be asked.
        anchors: how anchor items are chosen: "pivots" (QR with pivoting), "clusters" or "random", by `seed`.
        model: also keep the views of a model, for the first candidates and for method "axn"; None for words alone.
        sparse: score only so many items for each query, the best of an ordinary search, and fit the dense vectors of
        the model to these scores, for method "axn"; 0 to score all.
        The scores are committed block by block; called again with the same arguments, an interrupted build goes on.
        """
        checked = CheckedScorer(scorer, asking)
        check_anchor_queries(anchor_queries)
        if check_whole_number("sparse", sparse, 0) and model is None:
            raise SettingError(f"sparse is {sparse}, which fits the dense vectors of a model: give one as model=...")
        retriever = _open_items(Path(path), items, model)
        if sparse:
            collection, runner = retriever.collection, retriever.runner
            fit_index(collection, runner, checked, anchor_queries, depth=sparse, seed=seed, progress=progress)
            finish_job(collection)
            return cls(retriever, scorer, asking)
        build_table(
            retriever.collection,
            checked,
            anchor_queries,
            anchor_items=anchor_items,
            anchors=anchors,
            seed=seed,
            precision=precision,
            progress=progress,
        )
        finish_job(retriever.collection)
        return cls(retriever, scorer, asking)

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], scorer: Scorer | None = None, asking: Asking | None = None
    ) -> FactorisedIndex:
        """Open an index with the scorer that it was built with; None for a cross-encoder that it knows."""
        retriever = Retriever.open(path)
        try:
            given = scorer if scorer is not None else retriever.make_cross_searcher().load_scorer()
            return cls(retriever, given, asking)
        except BaseException:
            retriever.close()
            raise

    def search(
        self,
        query: str,
        k: int = 10,
        *,
        calls: int | None = None,
        method: CrossMethod | None = None,
        filter: Mapping[str, Any] | None = None,
        settings: CrossSearch | None = None,
    ) -> Ranking:
        """The k best items among those that `calls` calls of the scorer reached, with exact scores.

        method: "anncur", "adacur", "axn" or "rerank"; see CrossSearch, which has more settings and the defaults.
        """
        check_kind("settings", settings, CrossSearch | None, "CrossSearch(...)")
        chosen = settings or CrossSearch()
        chosen = chosen if calls is None else replace(chosen, calls=calls)
        chosen = chosen if method is None else replace(chosen, method=method)
        return self.retriever.make_cross_searcher().search(query, k, self._scorer, chosen, filter)

    def add(self, items: Iterable[Document], *, update: bool = False, progress: Progress | None = None) -> int:
        """Add items: as many calls for each as there are anchor queries. Returns how many were added."""
        table = open_table(self.retriever.collection)  # before anything is added: it may be damaged
        added = self.retriever.add(items, update=update)
        if table is not None:
            with table.writing() as writer:
                add_missing_rows(self.retriever.collection, self._scorer, writer, progress)
        return added

    def delete(self, ids: Iterable[str]) -> int:
        """Delete items; their scores go with the next `compact`."""
        return self.retriever.delete(ids)

    def compact(self) -> None:
        """Drop what deleted items left behind."""
        self.retriever.compact()

    def __repr__(self) -> str:
        """The index of the items."""
        return repr(self.retriever).replace("Retriever", "FactorisedIndex", 1)

    def __len__(self) -> int:
        """Items."""
        return len(self.retriever)

    def info(self) -> dict[str, Any]:
        """Documents, anchors and sizes."""
        return describe_tables(self.retriever.collection)

    def check(self) -> None:
        """Read every file and compare its checksum; raises DamagedIndex for the first that is wrong."""
        self.retriever.check()

    def close(self) -> None:
        """Close the files."""
        self.retriever.close()

    def __enter__(self) -> FactorisedIndex:
        """For use in a with statement."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()


def _open_items(path: Path, items: Iterable[str | Document], model: str | os.PathLike[str] | None) -> Retriever:
    """A new index of the items, marked as unfinished; one whose build was interrupted is continued."""
    documents = _to_documents(items)
    first = next(documents, None)  # before a folder is made
    if first is None:
        raise InputError("there are no items, expected some texts or Documents")
    job = describe_job(["items"], "" if model is None else str(model))
    if os.path.lexists(path):
        retriever = Retriever.open(path)
        begun = read_job(retriever.collection)
        if begun != job and (begun is not None or len(retriever)):  # without both it was killed before it began
            raise IndexExists(f"{path} exists already: open it, or remove it first")
    else:
        retriever = _create_words_index(path) if model is None else Retriever.create(path, model)
    start_job(retriever.collection, job)
    retriever.add(_find_missing(retriever, chain([first], documents)))
    return retriever


def _find_missing(retriever: Retriever, items: Iterable[Document]) -> Iterator[Document]:
    """Those that an interrupted build did not add; what it added must be the same."""
    for batch in split_batches(items, retriever.collection.policy):
        known = retriever.collection.known([item.id for item in batch])
        stored = {document.id: document for document in retriever.collection.get(list(known))}
        for item in batch:
            if item.id not in stored:
                yield item
            elif item.full_text != stored[item.id].full_text:
                raise InputError(
                    f"the item {item.id!r} is not the one that {retriever.path} was begun with: give the same items, "
                    "or remove the folder to begin anew"
                )


def _create_words_index(path: Path) -> Retriever:
    return Retriever(Collection.create(path, Views(lexical="words", counting=TermCounting()), {}))


def _to_documents(items: Iterable[str | Document]) -> Iterator[Document]:
    if isinstance(items, str):
        raise InputError("items is one text, expected a list of texts or Documents")
    for number, item in enumerate(items):
        if not isinstance(item, str | Document):
            raise InputError(f"item {number} is a {type(item).__name__}, expected a text or a Document")
        yield item if isinstance(item, Document) else Document(str(number), item)
