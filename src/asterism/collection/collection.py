"""Documents and their views in one folder: durable, searched as one committed state, written by one at a time.

papers.ast/
  manifest.json       kind and format version; views and model a second time, for repairs
  catalog.sqlite      documents, fields, tombstones, the list of segments: its transaction is the commit point
  codec-000001/       centroids, levels … and codec.json with their sizes and checksums (immutable)
  segment-000002/     arrays, memory-mapped, and segment.json with their sizes and checksums (immutable)
  writer.lock         held by the one writer, writer.queue by the next; locks die with their process
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..documents.document import Document
from ..errors import IndexExists, IndexFolderError, UnknownDocument
from ..settings import TokenSearch, cores
from ..storage.arrays import verify_folders
from ..storage.faults import damaged, writes_reported
from ..storage.folders import folder_in_the_making, sweep_parts
from ..storage.lock import nobody_writing, writing
from ..storage.manifest import read_manifest
from ..views.hits import SearchHits
from ..views.tokens.merge import Mask
from .catalog import Catalog, CatalogReader, create_catalog
from .connections import CATALOG
from .filter_parsing import canonical, parse_filter
from .filters import fulfils
from .format import KIND, PATIENCE, REPAIR, VERSION, views_of, write_collection_manifest
from .kept_views import Views
from .snapshot import Snapshot, positions
from .state import upgraded
from .writer import CollectionWriter

VERIFIED_BYTES = 1 << 30  # up to this size, what a first search reads is verified before: half a second
VERIFIED_CATALOG = 1 << 22  # up to this size, the fields are verified before the first filter is used
FILTERS_KEPT = 16
CHECK_PATIENCE = 60.0  # seconds that a check waits for a writer


@dataclass(frozen=True)
class Found:
    """Documents with their scores, best first, and the seconds of each stage."""

    documents: list[tuple[Document, float]]
    timings: dict[str, float]


T = TypeVar("T")


class Collection:
    """An open folder. Every call sees one committed state, the newest when it begins."""

    def __init__(self, path: Path) -> None:
        """Use `open` or `create`."""
        self.path = path
        self._catalog = Catalog(path)
        self._snapshot: Snapshot | None = None
        self._verified: set[str] = set()
        self._filters: dict[tuple[int, str], Mask] = {}
        self._guard = threading.Lock()
        self._closed = False

    @classmethod
    def create(cls, path: str | os.PathLike[str], views: Views, model: dict[str, Any]) -> Collection:
        """A new folder without documents; `model` says what made the vectors."""
        target = Path(path)
        if os.path.lexists(target):
            raise IndexExists(f"{target} exists already: choose another path, open it, or remove it first")
        facts = {"views": views.as_json(), "model": model}
        with folder_in_the_making(target) as temporary, writes_reported(target):
            create_catalog(temporary, facts)
            write_collection_manifest(temporary, **facts)
        return cls.open(target)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Collection:
        """Open a folder. Nothing in it is changed."""
        folder = Path(path).absolute()
        read_manifest(folder, KIND, VERSION)
        self = cls(folder)
        try:
            self.snapshot()
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Release files; mapped ones go with the last snapshot."""
        if not self._closed:
            self._closed = True
            self._catalog.close()
            self._snapshot = None

    def __del__(self) -> None:
        """Not to keep a descriptor when nobody closed it."""
        if hasattr(self, "_closed"):
            self.close()

    @contextmanager
    def writing(self) -> Iterator[CollectionWriter]:
        """Hold the writer's lock: IndexBusy if another does. Each of the writer's calls commits by itself."""
        if self._closed:
            raise IndexFolderError(f"{self.path} was closed: open it again")
        with writing(self.path, PATIENCE), writes_reported(self.path):
            state = self._catalog.recover()
            if read_manifest(self.path, KIND, VERSION).whole("version") < VERSION:
                self._upgrade()
            sweep_parts(self.path, state.folders)
            yield CollectionWriter(self.path, self._catalog, self.snapshot, self.views())

    @contextmanager
    def reading(self) -> Iterator[CatalogReader]:
        """A transaction of the catalog."""
        if self._closed:
            raise IndexFolderError(f"{self.path} was closed: open it again")
        with self._catalog.reading() as view:
            yield view

    def facts(self, name: str) -> dict[str, Any]:
        """A JSON object that is kept with the collection, such as `model`; {} if there is none."""
        with self.reading() as view:
            return view.fact(name)

    def views(self) -> Views:
        """As given to `create`; the first format had token vectors alone."""
        with self.reading() as view:
            return views_of(view)

    def snapshot(self) -> Snapshot:
        """The newest committed state."""
        with self.reading() as view:
            return self._newest(view)

    def get(self, ids: Sequence[str]) -> list[Document]:
        """In the order of the ids; UnknownDocument if one is missing."""
        with self.reading() as view:
            numbers = view.numbers_of(list(ids))
            for id in ids:
                if id not in numbers:
                    raise UnknownDocument(f"there is no document with the id {id!r} in {self.path}")
            documents = view.documents([numbers[id] for id in ids])
            return [documents[numbers[id]] for id in ids]

    def known(self, ids: Sequence[str]) -> set[str]:
        """Those of the ids that are in the collection."""
        with self.reading() as view:
            return set(view.numbers_of(list(ids)))

    def documents(self) -> Iterator[Document]:
        """All of them, in the order in which they were added, as of now."""
        with self.reading() as view:
            numbers = view.all_numbers()
        for start in range(0, len(numbers), 256):
            with self.reading() as view:  # closed before the caller, who may read and write meanwhile, goes on
                found = view.documents(numbers[start : start + 256].tolist())
            yield from found.values()

    def answers(
        self, search: Callable[[Snapshot, Mask | None], SearchHits], where: Mapping[str, Any] | None = None
    ) -> list[Found]:
        """What a search of the newest state finds among the documents that fulfil a filter, one for each query.

        `search` is given that state and (documents,) which count, None for all; it may be called again if documents
        that it found are deleted meanwhile.
        """
        while True:
            with self.reading() as view:
                snapshot = self._newest(view)
                subset = self._subset(snapshot, view, where)
            self._verify(snapshot)
            hits = search(snapshot, subset)
            found = self._with_documents(snapshot, hits, where)
            if found is not None:
                return found
            if self.snapshot().state == snapshot.state:  # nobody deleted them
                raise damaged(self.path, "has segments with documents that its catalog lacks")

    def search(
        self, query: npt.ArrayLike, k: int, settings: TokenSearch, where: Mapping[str, Any] | None = None
    ) -> Found:
        """Token vectors (tokens, d) -> the k best of those documents that fulfil a filter."""
        return self.answers(lambda state, subset: state.nearest_tokens([query], k, settings, subset, 1), where)[0]

    def looking_at(
        self, id: str, look: Callable[[Snapshot, int, Mask | None], T], where: Mapping[str, Any] | None = None
    ) -> tuple[Document, T]:
        """A document, and what `look` sees at its place in the newest state, with the documents that count."""
        with self.reading() as view:
            number = view.numbers_of([id]).get(id)
            if number is None:
                raise UnknownDocument(f"there is no document with the id {id!r} in {self.path}")
            document = view.documents([number])[number]
            snapshot = self._newest(view)
            subset = self._subset(snapshot, view, where)
        self._verify(snapshot)
        place = positions(snapshot.numbers, [number])
        if not len(place):
            raise damaged(self.path, f"has no segment with the document {id!r}")
        return document, look(snapshot, int(place[0]), subset)

    def put_fact(self, name: str, value: dict[str, Any]) -> None:
        """Keep a JSON object with the collection."""
        with self.writing(), self._catalog.writing() as edit:
            edit.put_fact(name, value)

    def check(self) -> None:
        """Read everything and compare checksums; raises DamagedIndex at the first thing that is wrong.

        Writers wait while the catalog is read; searches go on.
        """
        read_manifest(self.path, KIND, VERSION)
        self.snapshot()  # undoes what a killed writer left, which needs the lock
        with nobody_writing(self.path, CHECK_PATIENCE), self.reading() as view:
            view.check()
            snapshot = Snapshot.open(self.path, view, None)
            self._check_views(snapshot, view)
            if not np.array_equal(snapshot.numbers[snapshot.alive], view.all_numbers()):
                raise damaged(self.path, "has segments and a catalog that do not hold the same documents")
        if snapshot.codec is not None:
            snapshot.codec.verify()
        verify_folders((folder for stored in snapshot.segments for folder in stored.folders), cores(0))

    def bytes(self) -> int:
        """Size of all files that belong to the newest state."""
        return self.snapshot().bytes + os.stat(self._catalog.path).st_size

    def _newest(self, view: CatalogReader) -> Snapshot:
        with self._guard:
            state = view.state()
            if self._snapshot is not None and self._snapshot.state.identity not in ("", state.identity):
                raise IndexFolderError(f"{self.path} was replaced by another index: open it again")
            if self._snapshot is None or state != self._snapshot.state:
                if view.fact(REPAIR):
                    raise damaged(self.path, "was being repaired, and the repair was stopped: run it again to end it")
                opened = Snapshot.open(self.path, view, self._snapshot)
                self._check_views(opened, view)
                self._snapshot = opened
                self._filters.clear()
            return self._snapshot

    def _check_views(self, snapshot: Snapshot, view: CatalogReader) -> None:
        if snapshot.segments and set(snapshot.segments[0].views) != set(views_of(view).names):
            raise damaged(self.path, "has segments with other views than it should keep")

    def _subset(self, snapshot: Snapshot, view: CatalogReader, where: Mapping[str, Any] | None) -> Mask | None:
        """(documents,) the living that fulfil the filter; None for all."""
        if where is None:
            return None if snapshot.alive.all() else snapshot.alive
        condition = parse_filter(where)
        key = (snapshot.state.generation, canonical(where))
        known = self._filters.get(key)
        if known is None:
            self._verify_fields(view)
            known = snapshot.matching(condition, view) & snapshot.alive
            known.setflags(write=False)
            with self._guard:
                self._filters[key] = known
                while len(self._filters) > FILTERS_KEPT:
                    del self._filters[next(iter(self._filters))]
        return known

    def _with_documents(
        self, snapshot: Snapshot, hits: SearchHits, where: Mapping[str, Any] | None
    ) -> list[Found] | None:
        """Rows of documents and scores; None if one is gone since, so that the search must be made again."""
        wanted = np.unique(snapshot.numbers[hits.ids[hits.ids >= 0]])
        with self.reading() as view:
            documents = view.documents(wanted.tolist())
        if len(documents) < len(wanted):
            return None
        if where is not None:  # whatever the fields say: nobody sees a document that does not fulfil the filter
            condition = parse_filter(where)
            if not all(fulfils(condition, document.metadata) for document in documents.values()):
                raise damaged(self.path, "has fields that are not those of its documents")
        found = []
        for row, values in zip(hits.ids, hits.scores, strict=True):
            numbers = snapshot.numbers[row[row >= 0]].tolist()
            pairs = zip(numbers, values.tolist(), strict=False)
            found.append(Found([(documents[number], score) for number, score in pairs], hits.timings))
        return found

    def _verify(self, snapshot: Snapshot) -> None:
        """Before the first search of a small index, read what it will read once and compare checksums."""
        segments = [stored for stored in snapshot.segments if stored.part.name not in self._verified]
        if segments and sum(stored.bytes for stored in segments) <= VERIFIED_BYTES:
            verify_folders((folder for stored in segments for folder in stored.folders), cores(0))
        self._verified |= {stored.part.name for stored in segments}

    def _verify_fields(self, view: CatalogReader) -> None:
        """Before the first filter is used on a small index: what a filter finds must be all there is."""
        if CATALOG not in self._verified and os.stat(view.path).st_size <= VERIFIED_CATALOG:
            view.check()
        self._verified.add(CATALOG)

    def _upgrade(self) -> None:
        """To the format of now, once everything in the catalog was found to be right."""
        with self._catalog.writing() as edit:
            edit.check()
            state = edit.state()
            facts = {"views": views_of(edit).as_json(), "model": edit.fact("model")}
            edit.put_fact("views", facts["views"])
            edit.put_state(upgraded(state, edit.tombstones()))
        write_collection_manifest(self.path, **facts)
