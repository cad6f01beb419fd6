"""The façade: texts in, answers out. The one place where encoders and indexes meet."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from math import isfinite
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..collection.collection import Collection, Found
from ..collection.kept_views import Views
from ..collection.repair.repair import Repair, repair_collection
from ..collection.snapshot import Snapshot
from ..collection.writer import CollectionWriter
from ..documents.document import Document
from ..errors import DocumentError, IndexExists, InputError, TextError
from ..models.registry import DEFAULT
from ..representations import Representations
from ..results import Explanation, Hit, Ranking
from ..search.asked_views import AskedViews
from ..search.examine import Seen, examined
from ..search.fusion import EVEN, ViewScores, even_shares, protocol_of
from ..search.plan import SearchPlan
from ..settings import (
    MOST_THREADS,
    EncoderSettings,
    HybridSearch,
    Terms,
    TokenBuild,
    TokenSearch,
    View,
    cores,
    whole_number,
)
from ..views.hits import SearchHits
from ..views.tokens.merge import Mask
from .explain import Explainer
from .info import index_facts
from .jobs import is_unfinished
from .model import chosen_views, loaded_model, model_identity, same_model
from .represent import Progress, needs_model, represented

if TYPE_CHECKING:  # onnxruntime is loaded when the first text is encoded
    from ..encoders.encoder import Encoder

BATCH_DOCUMENTS = 256
BATCH_CHARACTERS = 1 << 22
LONGEST_QUERY = 100_000  # characters
FAST = EncoderSettings(precision="int8")


class Retriever:
    """Documents in a folder, searched by one view or several. Made by `create` and `open`."""

    def __init__(self, collection: Collection) -> None:
        """Use `create` or `open`."""
        self._collection = collection
        self._views = collection.views()
        self._encoder: Encoder | None = None

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        model: str | os.PathLike[str] = DEFAULT,
        *,
        views: Sequence[str] | None = None,
        terms: Terms | None = None,
        most_vectors: int = 0,
        build: TokenBuild | None = None,
        encoder: EncoderSettings = FAST,
    ) -> Retriever:
        """A new index at `path`, which must not exist; a model by name or folder, as in `load_encoder`.

        views: of "multi", "dense" and "lexical" those to keep; None for all that the model can give.
        terms: of the lexical view: "model" (its lexical head's), or those that BM25 counts: "words", in any language,
        or "tokens", the model's own; None for the model's if it has such a head, otherwise words.
        most_vectors: token vectors of a document at most; of longer ones similar vectors become one (0: any number).
        """
        _check_kind("path", path, str | os.PathLike, "a path")
        _check_kind("build", build, TokenBuild | None, "TokenBuild(...)")
        _check_kind("encoder", encoder, EncoderSettings, "EncoderSettings(...)")
        if os.path.lexists(path):  # before a model is fetched
            raise IndexExists(f"{path} exists already: choose another path, open it, or remove it first")
        loaded = loaded_model(model, encoder)
        kept = chosen_views(loaded, views, terms, most_vectors, build or TokenBuild())
        self = cls(Collection.create(path, kept, model_identity(model, loaded, encoder)))
        self._encoder = loaded
        return self

    @classmethod
    def open(cls, path: str | os.PathLike[str], model: str | os.PathLike[str] | None = None) -> Retriever:
        """Open an index. Its model is loaded when it is first needed; `model` says where it is now, if it was moved."""
        _check_kind("path", path, str | os.PathLike, "a path")
        self = cls(Collection.open(path))
        if model is not None:
            try:
                self._encoder = same_model(model, self._collection.facts("model"), self._collection.path)
            except BaseException:
                self.close()
                raise
        return self

    def close(self) -> None:
        """Release files; an index that nobody refers to any more is closed by itself."""
        self._collection.close()

    def __enter__(self) -> Retriever:
        """For use in a with statement."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def __len__(self) -> int:
        """Documents."""
        return self._collection.snapshot().state.documents

    def __contains__(self, id: object) -> bool:
        """Whether there is a document with this id."""
        return isinstance(id, str) and _is_unicode(id) and bool(self._collection.known([id]))

    def __iter__(self) -> Iterator[Document]:
        """All documents, in the order in which they were added."""
        return self._collection.documents()

    @property
    def path(self) -> Path:
        """Where the index is."""
        return self._collection.path

    @property
    def collection(self) -> Collection:
        """The documents and views on disk."""
        return self._collection

    def add(self, documents: Iterable[Document], *, update: bool = False, progress: Progress | None = None) -> int:
        """Add documents from any iterable, in batches of 256; returns how many.

        A batch is there as a whole or not at all: what was committed before an error stays. An id that exists is an
        error unless `update`, which replaces the document. `progress` is called with the number of documents encoded.
        """
        if progress is not None and not callable(progress):
            raise InputError(f"progress is {progress!r}, expected a function of a number, or None")
        done = 0
        with self._collection.writing() as writer:
            for batch in _batches(documents):
                writer.refuse(batch, update)
                self._add_batch(writer, batch, update, progress, done)
                done += len(batch)
            writer.settle()
        return done

    def _add_batch(
        self, writer: CollectionWriter, batch: list[Document], update: bool, progress: Progress | None, done: int
    ) -> None:
        texts = [document.full_text for document in batch]
        show = None if progress is None else lambda count: progress(done + count)
        writer.add(batch, represented(texts, "document", self._views, self.views, self._model, show), update)

    def update(self, documents: Iterable[Document], *, progress: Progress | None = None) -> int:
        """Add documents, replacing those whose ids exist."""
        return self.add(documents, update=True, progress=progress)

    def missing(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Those whose ids are not in the index: `retriever.add(retriever.missing(documents))` goes on after a stop."""
        for batch in _batches(documents):
            known = self._collection.known([document.id for document in batch])
            yield from (document for document in batch if document.id not in known)

    def delete(self, ids: Iterable[str], *, missing_ok: bool = False) -> int:
        """Remove documents; returns how many. An id that does not exist is an error, and nothing is removed."""
        if isinstance(ids, str) or not isinstance(ids, Iterable):
            raise InputError(f"ids is {ids!r}, expected a list of ids")
        wanted = list(ids)
        for id in wanted:
            _check_id(id)
        with self._collection.writing() as writer:
            return writer.delete(wanted, missing_ok)

    def get(self, id: str) -> Document:
        """The document with this id; UnknownDocument if there is none."""
        _check_id(id)
        return self._collection.get([id])[0]

    def search(
        self,
        query: str,
        k: int = 10,
        *,
        method: str | None = None,
        filter: Mapping[str, Any] | None = None,
        settings: TokenSearch | HybridSearch | None = None,
    ) -> Ranking:
        """The k best documents, fewer where fewer match; exact within the filter.

        method: "colbert", "xtr" or "exact" over token vectors (see TokenSearch), "dense", "lexical", or "hybrid" (see
        HybridSearch; "hybrid:rrf" names a fusion); None for the first of colbert, hybrid, dense and lexical that the
        index has the views for.
        """
        return self.search_many([query], k, method=method, filter=filter, settings=settings, threads=1)[0]

    def search_many(
        self,
        queries: Sequence[str],
        k: int = 10,
        *,
        method: str | None = None,
        filter: Mapping[str, Any] | None = None,
        settings: TokenSearch | HybridSearch | None = None,
        threads: int = 0,
    ) -> list[Ranking]:
        """One ranking a query; `threads` (0: all cores) share the queries. Timings are means over the queries."""
        if isinstance(queries, str | bytes) or not isinstance(queries, Sequence):
            raise TextError(f"a {type(queries).__name__} was given, expected a list of queries; for one, use search")
        plan = self._plan(method, settings)
        wanted = whole_number("k", k, 1)
        workers = cores(whole_number("threads", threads, 0, MOST_THREADS))
        for query in queries:
            _check_query(query)
        if not queries:
            return []
        if needs_model(self._views, plan.views(self.views)):
            self._model()  # loaded before the clock runs
        begin = time.perf_counter()
        encoded = represented(queries, "query", self._views, plan.views(self.views), self._model)
        encoding = (time.perf_counter() - begin) / len(queries)
        found = self._collection.answers(
            lambda state, subset: plan.hits(AskedViews(state, encoded, subset, workers), wanted, workers), filter
        )
        return [_ranking(query, plan.method, one, encoding) for query, one in zip(queries, found, strict=True)]

    def explain(
        self,
        query: str,
        id: str,
        *,
        k: int = 10,
        method: str | None = None,
        filter: Mapping[str, Any] | None = None,
        settings: TokenSearch | HybridSearch | None = None,
    ) -> Explanation:
        """What each view adds to a document's score, and which of its tokens and terms answered, with their places.

        What XTR imputes, and ranks that are fused, depend on k and on the filter: give those of the search.
        """
        plan = self._plan(method, settings)
        _check_query(query)
        _check_id(id)
        wanted = whole_number("k", k, 1)
        encoded = represented([query], "query", self._views, plan.views(self.views), self._model)

        def look(state: Snapshot, at: int, subset: Mask | None) -> Seen:
            return examined(AskedViews(state, encoded, subset, 1), at, plan, wanted, subset)

        document, seen = self._collection.looking_at(id, look, filter)
        return Explainer(query, document, self._views, self._model).explanation(seen, plan)

    def check_method(self, method: str) -> None:
        """Raise what a search with this method would: an unknown name, or a view that the index has not."""
        self._plan(method, None)

    def shares(self, queries: Sequence[str]) -> list[tuple[list[str], dict[View, npt.NDArray[np.float32]]]]:
        """For each query the ids (m,) of hybrid search's candidates, and what a view of weight 1 adds to each (m,)."""
        plan = self._plan("hybrid", EVEN)
        encoded = represented(queries, "query", self._views, plan.views(self.views), self._model)
        scored: list[ViewScores] = []

        def look(state: Snapshot, subset: Mask | None) -> SearchHits:
            scored[:] = even_shares(AskedViews(state, encoded, subset, cores(0)), plan.tokens)
            return SearchHits.of([(one.documents, one.totals()) for one in scored])

        rows = self._collection.answers(look)
        ids = [[document.id for document, _ in row.documents] for row in rows]
        return list(zip(ids, [one.shares for one in scored], strict=True))

    @property
    def weights(self) -> tuple[float, float, float]:
        """Of dense, lexical and multi in hybrid search."""
        return protocol_of(self.fusion, self._views.counted).weights

    def _plan(self, method: str | None, settings: TokenSearch | HybridSearch | None) -> SearchPlan:
        return SearchPlan.of(method, settings, self.views, lambda: self.fusion)

    @property
    def views(self) -> tuple[View, ...]:
        """Of dense, lexical and multi: those the index has."""
        return self._views.names

    @property
    def fusion(self) -> HybridSearch:
        """What hybrid search means here, if nothing else is said; `tune` may have set it."""
        return HybridSearch.of(self._collection.facts("fusion"))

    @fusion.setter
    def fusion(self, settings: HybridSearch) -> None:
        _check_kind("fusion", settings, HybridSearch, "HybridSearch(...)")
        self._collection.put_fact("fusion", asdict(settings))

    def compact(self) -> None:
        """Merge all segments into one, drop what was deleted, and train codecs again that the corpus outgrew."""
        with self._collection.writing() as writer:
            writer.compact()

    def check(self) -> None:
        """Read every file and compare its checksum; raises DamagedIndex at the first that is wrong."""
        self._collection.check()

    @classmethod
    def repair(cls, path: str | os.PathLike[str], model: str | os.PathLike[str] | None = None) -> Repair:
        """Mend a damaged index: what is intact stays, the documents of damaged segments are encoded again.

        Lost are only documents whose own rows were hit in more than one byte; the answer says how many. `model` as in
        `open`.
        """
        _check_kind("path", path, str | os.PathLike, "a path")
        encoders: list[Encoder] = []

        def represent(documents: list[Document], views: Views, facts: dict[str, Any]) -> Representations:
            def encoder() -> Encoder:
                if not encoders:
                    encoders.append(same_model(model, facts, Path(path)))
                return encoders[0]

            texts = [document.full_text for document in documents]
            return represented(texts, "document", views, views.names, encoder)

        return repair_collection(Path(path), represent)

    def info(self) -> dict[str, Any]:
        """Size, shape, model and health of the index."""
        return {**index_facts(self._collection, self._views), "unfinished": is_unfinished(self._collection)}

    @property
    def encoder(self) -> Encoder:
        """The index's model, loaded at the first use."""
        if self._encoder is None:
            self._encoder = same_model(None, self._collection.facts("model"), self.path)
        return self._encoder

    def _model(self) -> Encoder:
        return self.encoder


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """A few hundred documents, fewer where they are long."""
    if isinstance(documents, Document | str | bytes) or not isinstance(documents, Iterable):
        raise DocumentError(f"a {type(documents).__name__} was given, expected several documents: put it into a list")
    rest = _readable(documents)
    while True:
        batch: list[Document] = []
        characters = 0
        for document in islice(rest, BATCH_DOCUMENTS):
            if not isinstance(document, Document):
                raise DocumentError(f"a {type(document).__name__} was given, expected asterism.Document(id=, text=)")
            batch.append(document)
            characters += len(document.text)
            if characters >= BATCH_CHARACTERS:
                break
        if not batch:
            return
        yield batch


def _readable(documents: Iterable[Document]) -> Iterator[Document]:
    """What the system says of reading them, told apart from what it says of writing the index."""
    try:
        yield from documents
    except OSError as error:
        raise DocumentError(f"the documents cannot be read further: {error}") from error


def _check_kind(name: str, value: object, kind: Any, expected: str) -> None:
    if not isinstance(value, kind):
        raise InputError(f"{name} is a {type(value).__name__}, expected {expected}")


def _is_unicode(text: str) -> bool:
    """Whether it can be written as UTF-8: half a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_id(id: object) -> None:
    if not isinstance(id, str) or not _is_unicode(id):
        raise InputError(f"the id is {id!r}, expected a string of whole characters")


def _check_query(query: str) -> None:
    if not isinstance(query, str):
        raise TextError(f"the query is a {type(query).__name__}, expected a string")
    if not query.strip():
        raise TextError("the query is empty, expected some words")
    if len(query) > LONGEST_QUERY:
        raise TextError(f"the query has {len(query):,} characters, expected at most {LONGEST_QUERY:,}: shorten it")


def _ranking(query: str, method: str, found: Found, encoding: float) -> Ranking:
    answers = [pair for pair in found.documents if isfinite(pair[1])]  # a document without words is no answer
    hits = tuple(Hit(rank, document.id, score, document) for rank, (document, score) in enumerate(answers, 1))
    return Ranking(query, method, hits, {"encode": encoding, **found.timings})
