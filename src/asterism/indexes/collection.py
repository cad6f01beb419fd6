"""Documents and their views in one folder: durable, searched as one committed state, written by one at a time.

papers.ast/
  manifest.json       kind, format version, and the catalog's size and checksum (none while somebody writes)
  catalog.sqlite      documents, fields, tombstones, the list of segments: its transaction is the commit point
  codec-000001/       centroids, levels … and codec.json with their sizes and checksums (immutable)
  segment-000002/     arrays, memory-mapped, and segment.json with their sizes and checksums (immutable)
  writer.lock         held by the one writer; the lock dies with its process
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..corpus import Document
from ..errors import DamagedIndex, IndexExists, IndexFolderError, UnknownDocument
from ..settings import TokenBuild, TokenSearch
from .catalog import CATALOG, Catalog, CatalogView, State, create_catalog
from .catalog_seal import SealedFile
from .collection_writer import CollectionWriter
from .filter_parsing import canonical, parse_filter
from .hits import SearchHits
from .segment_merge import Mask
from .snapshot import Snapshot, positions
from .storage import REMEDY, folder_in_the_making, read_manifest, write_manifest, writing
from .stored_parts import verify_files
from .views import Views

KIND = "asterism index"
VERSION = 2
VERIFIED_BYTES = 1 << 30  # up to this size, what a first search reads is verified before: half a second
FILTERS_KEPT = 16
PATIENCE = 1.0  # seconds a writer waits: who opens an index holds its lock for a moment, to sweep


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
        self._file = SealedFile(path / CATALOG)
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
        with folder_in_the_making(target) as temporary, full_disk_reported(target):
            create_catalog(temporary, {"views": views.as_json(), "model": model})
            file = SealedFile(temporary / CATALOG)
            write_manifest(temporary, {"kind": KIND, "version": VERSION, "catalog": file.facts()})
            file.release()
        return cls.open(target)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Collection:
        """Open a folder; what a killed writer left is swept, unless somebody is writing."""
        folder = Path(path)
        manifest = read_manifest(folder, KIND, VERSION)
        self = cls(folder)
        try:
            with suppress(IndexFolderError), writing(folder):
                self._sweep()
                if manifest["catalog"] is None:
                    self._seal()
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
            self._file.release()
            self._snapshot = None

    def __del__(self) -> None:
        """Not to keep a descriptor when nobody closed it."""
        if hasattr(self, "_closed"):
            self.close()

    @contextmanager
    def writing(self) -> Iterator[CollectionWriter]:
        """Hold the writer's lock: IndexBusy if another does. Each of the writer's calls commits by itself."""
        with writing(self.path, PATIENCE), full_disk_reported(self.path):
            self._sweep()
            write_manifest(self.path, {"kind": KIND, "version": VERSION, "catalog": None})
            try:
                yield CollectionWriter(self.path, self._catalog, self.snapshot, self.views())
            finally:
                with suppress(OSError):  # a full disk: not sealed, which only means not verified as a whole
                    self._seal()

    @contextmanager
    def reading(self) -> Iterator[CatalogView]:
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
            stored = view.fact("views")
            return Views.of(stored) if stored else Views(TokenBuild.of(view.fact("settings")))

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
                self._verify(snapshot, view)
                subset = self._subset(snapshot, view, where)
            hits = search(snapshot, subset)
            found = self._with_documents(snapshot, hits)
            if found is not None:
                return found

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
            self._verify(snapshot, view)
            subset = self._subset(snapshot, view, where)
        place = positions(snapshot.numbers, [number])
        if not len(place):
            raise DamagedIndex(f"{self.path}: no segment holds the document {id!r}; {REMEDY}")
        return document, look(snapshot, int(place[0]), subset)

    def put_fact(self, name: str, value: dict[str, Any]) -> None:
        """Keep a JSON object with the collection."""
        with self.writing(), self._catalog.writing() as edit:
            edit.put_fact(name, value)

    def check(self) -> None:
        """Read everything and compare checksums; raises DamagedIndex at the first thing that is wrong."""
        with self.reading() as view:
            self._check_seal(read_manifest(self.path, KIND, VERSION))
            view.check()
            snapshot = Snapshot.open(self.path, view, None)
            verify_files(self.path, snapshot.files)
            if not np.array_equal(snapshot.numbers[snapshot.alive], view.all_numbers()):
                raise DamagedIndex(f"{self.path}: segments and catalog do not hold the same documents; {REMEDY}")

    def bytes(self) -> int:
        """Size of all files that belong to the newest state."""
        return sum(facts["bytes"] for facts in self.snapshot().files.values()) + self._file.bytes

    def _newest(self, view: CatalogView) -> Snapshot:
        with self._guard:
            if self._snapshot is None or view.state() != self._snapshot.state:
                try:
                    self._snapshot = Snapshot.open(self.path, view, self._snapshot)
                except (KeyError, TypeError, AttributeError, ValueError) as error:
                    raise DamagedIndex(f"{self.path} has wrong facts of itself ({error!r}): {REMEDY}") from error
                self._filters.clear()
            return self._snapshot

    def _subset(self, snapshot: Snapshot, view: CatalogView, where: Mapping[str, Any] | None) -> Mask | None:
        """(documents,) the living that fulfil the filter; None for all."""
        if where is None:
            return None if snapshot.alive.all() else snapshot.alive
        condition = parse_filter(where)
        key = (snapshot.state.generation, canonical(where))
        known = self._filters.get(key)
        if known is None:
            known = snapshot.matching(condition, view) & snapshot.alive
            known.setflags(write=False)
            with self._guard:
                self._filters[key] = known
                while len(self._filters) > FILTERS_KEPT:
                    del self._filters[next(iter(self._filters))]
        return known

    def _with_documents(self, snapshot: Snapshot, hits: SearchHits) -> list[Found] | None:
        """Rows of documents and scores; None if one is gone since, so that the search must be made again."""
        wanted = np.unique(snapshot.numbers[hits.ids[hits.ids >= 0]])
        with self.reading() as view:
            documents = view.documents(wanted.tolist())
        if len(documents) < len(wanted):
            return None
        found = []
        for row, values in zip(hits.ids, hits.scores, strict=True):
            numbers = snapshot.numbers[row[row >= 0]].tolist()
            pairs = zip(numbers, values.tolist(), strict=False)
            found.append(Found([(documents[number], score) for number, score in pairs], hits.timings))
        return found

    def _verify(self, snapshot: Snapshot, view: CatalogView) -> None:
        """Before the first search of a small index, read what it will read once and compare checksums."""
        segments = [stored for stored in snapshot.segments if stored.part.name not in self._verified]
        if CATALOG not in self._verified and self._file.bytes <= VERIFIED_BYTES:
            self._check_seal(read_manifest(self.path, KIND, VERSION))
            self._verified.add(CATALOG)
        if sum(facts["bytes"] for stored in segments for facts in stored.files.values()) <= VERIFIED_BYTES:
            for stored in segments:
                verify_files(self.path, stored.files)
        self._verified |= {stored.part.name for stored in segments}

    def _check_seal(self, manifest: dict[str, Any]) -> None:
        """Within a transaction: nobody can commit meanwhile."""
        if manifest["catalog"] is not None and self._file.facts() != manifest["catalog"]:
            raise DamagedIndex(f"{self.path / CATALOG} was changed since it was written: {REMEDY}")

    def _seal(self) -> None:
        write_manifest(self.path, {"kind": KIND, "version": VERSION, "catalog": self._file.facts()})

    def _sweep(self) -> None:
        """Remove folders that no committed state names; only under the writer's lock."""
        with self.reading() as view:
            state = view.state()
        remove_leftovers(self.path, state)


def remove_leftovers(folder: Path, state: State) -> None:
    """Codecs and segments that the state does not name."""
    for pattern in ("codec-[0-9]*", "segment-[0-9]*"):
        for leftover in folder.glob(pattern):
            if leftover.name not in state.folders:
                shutil.rmtree(leftover, ignore_errors=True)


@contextmanager
def full_disk_reported(folder: Path) -> Iterator[None]:
    """What the system says of a write, as an error of ours."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        advice = "what was committed is intact; make room, then try again"
        raise IndexFolderError(f"{folder} cannot be written ({reason}): {advice}") from error
