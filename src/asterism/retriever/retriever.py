"""The main class of the library: combines encoders and collections to index and search texts."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..collection.collection import Collection
from ..collection.kept_views import Views
from ..collection.policy import Policy
from ..collection.repair.repair import Repair
from ..collection.snapshot import Snapshot
from ..documents.document import Document
from ..errors import IndexExists, InputError, TextError
from ..models.registry import DEFAULT
from ..representations import Representations
from ..results import Explanation, Ranking
from ..search.examine import Seen, examine
from ..search.fusion import EVEN, ViewScores, choose_protocol, share_evenly
from ..search.plan import SearchPlan
from ..settings import (
    MOST_THREADS,
    EncoderSettings,
    HybridSearch,
    TermCounting,
    Terms,
    TokenBuild,
    TokenSearch,
    View,
    check_whole_number,
    count_threads,
)
from ..terms.languages import detect_language
from ..views.eligible import Mask
from ..views.hits import SearchHits
from .batches import split_batches
from .checks import check_id, check_kind, check_progress, check_query, is_id
from .explain import Explainer
from .info import describe_index
from .jobs import is_unfinished
from .model import LazyEncoder, choose_views, describe_model, load_model, load_same_model
from .repair import repair_index
from .represent import Progress, encode_batch, encode_views, needs_model

if TYPE_CHECKING:  # onnxruntime is loaded when the first text is encoded
    from ..encoders.encoder import Encoder

FAST = EncoderSettings(precision="int8")


class Retriever:
    """An index of documents in a folder, searched by one or several views. Made by `create` and `open`."""

    def __init__(self, collection: Collection) -> None:
        """Use `create` or `open`."""
        self._collection = collection
        self._encoder = LazyEncoder(self._load_encoder)

    @property
    def _views(self) -> Views:
        return self._collection.views()

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
        counting: TermCounting | None = None,
        encoder: EncoderSettings = FAST,
        policy: Policy | None = None,
    ) -> Retriever:
        """Create an index at `path`, which must not exist; a model by name or folder, as in `load_encoder`.

        views: which of "multi", "dense" and "lexical" to store; None for all that the model supports.
        terms: of the lexical view: "model" for those of the model's lexical head, or BM25 over "words" of any language
        or over the model's "tokens"; None for the model's if it has such a head, otherwise words.
        most_vectors: maximum token vectors of a document; similar vectors of longer ones are merged (0: no limit).
        counting: how words are counted; by default in the language of the first documents that are added.
        policy: when the index is clustered, merged and verified; the default suits any size.
        """
        check_kind("path", path, str | os.PathLike, "a path")
        check_kind("build", build, TokenBuild | None, "TokenBuild(...)")
        check_kind("counting", counting, TermCounting | None, "TermCounting(...)")
        check_kind("encoder", encoder, EncoderSettings, "EncoderSettings(...)")
        if os.path.lexists(path):  # before a model is downloaded
            raise IndexExists(f"{path} exists already: choose another path, open it, or remove it first")
        loaded = load_model(model, encoder)
        kept = choose_views(loaded, views, terms, most_vectors, build or TokenBuild(), counting or TermCounting())
        self = cls(Collection.create(path, kept, describe_model(model, loaded, encoder), policy))
        self._encoder = LazyEncoder(self._load_encoder, loaded)
        return self

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        model: str | os.PathLike[str] | None = None,
        *,
        policy: Policy | None = None,
    ) -> Retriever:
        """Open an index. Its model is loaded when first needed; `model`: its location, if it was moved."""
        check_kind("path", path, str | os.PathLike, "a path")
        self = cls(Collection.open(path, policy))
        if model is not None:
            try:
                self._encoder = LazyEncoder(self._load_encoder, self._load_encoder(model))
            except BaseException:
                self.close()
                raise
        return self

    def close(self) -> None:
        """Close the files; an index without references is closed automatically."""
        self._collection.close()

    def __enter__(self) -> Retriever:
        """For use in a with statement."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def __len__(self) -> int:
        """Number of documents."""
        return self._collection.snapshot().state.documents

    def __contains__(self, id: object) -> bool:
        """Whether there is a document with this id."""
        return isinstance(id, str) and is_id(id) and bool(self._collection.known([id]))

    def __iter__(self) -> Iterator[Document]:
        """All documents, in the order in which they were added."""
        return self._collection.documents()

    @property
    def path(self) -> Path:
        """The folder of the index."""
        return self._collection.path

    @property
    def collection(self) -> Collection:
        """The documents and views on disk."""
        return self._collection

    def add(self, documents: Iterable[Document], *, update: bool = False, progress: Progress | None = None) -> int:
        """Add documents from any iterable, in batches of 256; returns how many.

        Each batch is added completely or not at all; batches before an error stay. An id that exists is an error,
        unless `update` is true, which replaces the document. `progress` is called with the number of documents encoded.
        """
        check_progress(progress)
        done = 0
        with self._collection.writing() as writer:
            for batch in split_batches(documents, self._collection.policy):
                admitted = writer.admit(batch, update)  # before anything is encoded
                if self._views.undecided:
                    writer.put_language(detect_language([document.full_text for document in batch]))
                writer.add_admitted(admitted, encode_batch(batch, self._views, self._encoder, progress, done))
                done += len(batch)
            writer.settle()
        return done

    def _encode_queries(self, queries: Sequence[str], plan: SearchPlan) -> Representations:
        return encode_views(queries, "query", self._views, plan.views(self.views), self._encoder)

    def update(self, documents: Iterable[Document], *, progress: Progress | None = None) -> int:
        """Add documents, replacing those whose ids exist."""
        return self.add(documents, update=True, progress=progress)

    def missing(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Those whose ids are not in the index: `retriever.add(retriever.missing(documents))` resumes an `add`."""
        for batch in split_batches(documents, self._collection.policy):
            known = self._collection.known([document.id for document in batch])
            yield from (document for document in batch if document.id not in known)

    def delete(self, ids: Iterable[str], *, missing_ok: bool = False) -> int:
        """Delete documents; returns how many. An id that does not exist is an error, and nothing is deleted."""
        if isinstance(ids, str) or not isinstance(ids, Iterable):
            raise InputError(f"ids is {ids!r}, expected a list of ids")
        wanted = list(ids)
        for id in wanted:
            check_id(id)
        with self._collection.writing() as writer:
            return writer.delete(wanted, missing_ok)

    def get(self, id: str) -> Document:
        """The document with this id; UnknownDocument if there is none."""
        check_id(id)
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
        """The k best of the documents that match the filter, fewer if fewer match.

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
        """One ranking per query; `threads` (0: all cores) share the queries. Timings are means over the queries."""
        if isinstance(queries, str | bytes) or not isinstance(queries, Sequence):
            raise TextError(f"a {type(queries).__name__} was given, expected a list of queries; for one, use search")
        plan = self._plan(method, settings)
        wanted = check_whole_number("k", k, 1)
        workers = count_threads(check_whole_number("threads", threads, 0, MOST_THREADS))
        for query in queries:
            check_query(query)
        if not queries:
            return []
        if needs_model(self._views, plan.views(self.views)):
            self._encoder()  # loaded before the time is measured
        begin = time.perf_counter()
        encoded = self._encode_queries(queries, plan)
        encoding = time.perf_counter() - begin

        def search(snapshot: Snapshot, eligible: Mask | None) -> SearchHits:
            return plan.search(snapshot, encoded, wanted, eligible, workers)

        found = self._collection.find(search, filter)
        means = {stage: spent / len(queries) for stage, spent in {"encode": encoding, **found[0].timings}.items()}
        pairs = zip(queries, (one.documents for one in found), strict=True)
        return [Ranking.from_scores(query, plan.method, scored, means) for query, scored in pairs]

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
        """What each view adds to a document's score, and which of its tokens and terms matched, with their positions.

        Imputed values of XTR, and fused ranks, depend on k and on the filter: pass those of the search.
        """
        plan = self._plan(method, settings)
        check_query(query)
        check_id(id)
        wanted = check_whole_number("k", k, 1)
        encoded = self._encode_queries([query], plan)

        def look(snapshot: Snapshot, at: int, eligible: Mask | None) -> Seen:
            return examine(plan.ask(snapshot, encoded, eligible, 1), at, plan, wanted)

        document, seen = self._collection.look_at(id, look, filter)
        return Explainer(query, document, self._views, self._encoder).explain(seen, plan)

    def check_method(self, method: str) -> None:
        """Raise the error of a search with this method: an unknown name, or a view that the index does not have."""
        self._plan(method, None)

    def shares(self, queries: Sequence[str]) -> list[tuple[list[str], dict[View, npt.NDArray[np.float32]]]]:
        """For each query, the ids (m,) of hybrid search's candidates, and what each view adds with weight 1 (m,)."""
        plan = self._plan("hybrid", EVEN)
        encoded = self._encode_queries(queries, plan)
        scored: list[ViewScores] = []

        def look(snapshot: Snapshot, eligible: Mask | None) -> SearchHits:
            scored[:] = share_evenly(plan.ask(snapshot, encoded, eligible, count_threads(0)))
            return SearchHits.from_rows([(one.documents, one.totals()) for one in scored])

        rows = self._collection.find(look)
        return [([found.id for found, _ in row.documents], one.shares) for row, one in zip(rows, scored, strict=True)]

    @property
    def weights(self) -> tuple[float, float, float]:
        """The weights of dense, lexical and multi in hybrid search."""
        return choose_protocol(self.fusion, self._views.counted).weights

    def _plan(self, method: str | None, settings: TokenSearch | HybridSearch | None) -> SearchPlan:
        return SearchPlan.from_request(method, settings, self.views, lambda: self.fusion)

    @property
    def views(self) -> tuple[View, ...]:
        """The views of the index, of dense, lexical and multi."""
        return self._views.names

    @property
    def fusion(self) -> HybridSearch:
        """The default settings of hybrid search in this index; `tune` can set them."""
        return HybridSearch.from_json(self._collection.facts("fusion"))

    @fusion.setter
    def fusion(self, settings: HybridSearch) -> None:
        check_kind("fusion", settings, HybridSearch, "HybridSearch(...)")
        self._collection.put_fact("fusion", asdict(settings))

    def compact(self) -> None:
        """Merge all segments into one, drop deleted documents, and retrain the codec if the corpus outgrew it."""
        with self._collection.writing() as writer:
            writer.compact()

    def check(self) -> None:
        """Read every file and compare its checksum; raises DamagedIndex for the first that is wrong."""
        self._collection.check()

    @classmethod
    def repair(cls, path: str | os.PathLike[str], model: str | os.PathLike[str] | None = None) -> Repair:
        """Repair a damaged index: intact parts stay, the documents of damaged segments are encoded again.

        Only documents whose own rows have more than one wrong byte are lost; the result says how many. `model` as in
        `open`.
        """
        check_kind("path", path, str | os.PathLike, "a path")
        return repair_index(Path(path), model)

    def info(self) -> dict[str, Any]:
        """Size, shape, model and health of the index."""
        return {**describe_index(self._collection, self._views), "unfinished": is_unfinished(self._collection)}

    @property
    def encoder(self) -> Encoder:
        """The index's model, loaded at the first use."""
        return self._encoder()

    def _load_encoder(self, model: str | os.PathLike[str] | None = None) -> Encoder:
        return load_same_model(model, self._collection.facts("model"), self.path)
