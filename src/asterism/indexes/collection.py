"""Documents and their token vectors in one folder: durable, searched as one committed state, written by one at a time.

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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..corpus import Document
from ..errors import DamagedIndex, IndexExists, IndexFolderError, UnknownDocument
from ..settings import TokenBuild, TokenSearch, whole_number
from .catalog import CATALOG, Catalog, CatalogView, State, create_catalog
from .catalog_seal import SealedFile
from .collection_writer import CollectionWriter
from .filters import canonical, parse_filter
from .segment_merge import Mask
from .snapshot import Snapshot, positions, verify_part
from .storage import REMEDY, folder_in_the_making, read_manifest, write_manifest, writing

KIND = "asterism index"
VERSION = 1
VERIFIED_BYTES = 1 << 30  # up to this size, what a first search reads is verified before: half a second
FILTERS_KEPT = 16


@dataclass(frozen=True)
class Found:
    """Documents with their scores, best first, and the seconds of each stage."""

    documents: list[tuple[Document, float]]
    timings: dict[str, float]


@dataclass(frozen=True)
class MatchedDocument:
    """A document against a query: similarities (tokens, q) and the tokens' centroids (tokens,).

    For XTR also what each query token imputes (q,) and which centroids it probed.
    """

    document: Document
    similarities: npt.NDArray[np.float32]
    centroids: npt.NDArray[np.uint32]
    imputed: npt.NDArray[np.float32]
    probed: list[npt.NDArray[np.uint32]]


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
    def create(cls, path: str | os.PathLike[str], settings: TokenBuild, model: dict[str, Any]) -> Collection:
        """A new folder without documents; `model` says what made the vectors."""
        target = Path(path)
        if os.path.lexists(target):
            raise IndexExists(f"{target} exists already: choose another path, open it, or remove it first")
        kept = {name: value for name, value in asdict(settings).items() if name != "threads"}
        with folder_in_the_making(target) as temporary, full_disk_reported(target):
            create_catalog(temporary, {"settings": kept, "model": model})
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
        with writing(self.path), full_disk_reported(self.path):
            self._sweep()
            write_manifest(self.path, {"kind": KIND, "version": VERSION, "catalog": None})
            try:
                with self.reading() as view:
                    settings = TokenBuild.of(view.fact("settings"))
                yield CollectionWriter(self.path, self._catalog, self.snapshot, settings)
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
        """`settings` or `model`, as given to `create`."""
        with self.reading() as view:
            return view.fact(name)

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

    def search(
        self, query: npt.ArrayLike, k: int, settings: TokenSearch, where: Mapping[str, Any] | None = None
    ) -> Found:
        """Query (tokens, d) -> the k best of those documents that fulfil a filter."""
        return self.search_many([query], k, settings, where, 1)[0]

    def search_many(
        self,
        queries: Sequence[npt.ArrayLike],
        k: int,
        settings: TokenSearch,
        where: Mapping[str, Any] | None = None,
        threads: int = 1,
    ) -> list[Found]:
        """Queries, each (tokens, d); `threads` share them. One query may itself use `settings.threads`."""
        whole_number("k", k, 1)
        while True:
            with self.reading() as view:
                snapshot = self._newest(view)
                self._verify(snapshot, view)
                subset = self._subset(snapshot, view, where)
            if snapshot.searcher is None:
                return [Found([], {}) for _ in queries]
            if len(queries) == 1:
                one = snapshot.searcher.search(queries[0], k, settings, subset)
                ids, scores, timings = one.ids[None], one.scores[None], one.timings
            else:
                many = snapshot.searcher.search_many(queries, k, settings, subset, threads)
                ids, scores = many.ids, many.scores
                timings = {stage: seconds / len(queries) for stage, seconds in many.timings.items()}
            found = self._with_documents(snapshot, ids, scores, timings)
            if found is not None:
                return found

    def matched(
        self, query: npt.ArrayLike, id: str, settings: TokenSearch, k: int = 10, where: Mapping[str, Any] | None = None
    ) -> MatchedDocument:
        """How each vector of a query (q, d) compares with each of a document, in a search for k with a filter."""
        with self.reading() as view:
            number = view.numbers_of([id]).get(id)
            if number is None:
                raise UnknownDocument(f"there is no document with the id {id!r} in {self.path}")
            document = view.documents([number])[number]
            snapshot = self._newest(view)
            self._verify(snapshot, view)
            subset = self._subset(snapshot, view, where)
        searcher, place = snapshot.searcher, positions(snapshot.numbers, [number])
        if searcher is None or not len(place):
            raise DamagedIndex(f"{self.path}: no segment holds the document {id!r}; {REMEDY}")
        at = int(place[0])
        imputed: npt.NDArray[np.float32] = np.zeros(0, np.float32)
        probed: list[npt.NDArray[np.uint32]] = []
        if settings.method == "xtr":
            imputed, probed = searcher.retrieval(query, k, settings, subset)
        similarities = searcher.similarities(query, at, finest=settings.method != "xtr")  # XTR sees the codes alone
        return MatchedDocument(document, similarities, searcher.centroids_of(at), imputed, probed)

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
            if snapshot.codec is not None:
                verify_part(self.path, snapshot.codec.part, snapshot.codec.files)
            for stored in snapshot.segments:
                verify_part(self.path, stored.part, stored.files)
            if not np.array_equal(snapshot.numbers[snapshot.alive], view.all_numbers()):
                raise DamagedIndex(f"{self.path}: segments and catalog do not hold the same documents; {REMEDY}")

    def bytes(self) -> int:
        """Size of all files that belong to the newest state."""
        snapshot = self.snapshot()
        files = [stored.files for stored in snapshot.segments]
        if snapshot.codec is not None:
            files.append(snapshot.codec.files)
        return self._file.bytes + sum(facts["bytes"] for part in files for facts in part.values())

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
            with self._guard:
                self._filters[key] = known
                while len(self._filters) > FILTERS_KEPT:
                    del self._filters[next(iter(self._filters))]
        return known

    def _with_documents(
        self,
        snapshot: Snapshot,
        ids: npt.NDArray[np.int64],
        scores: npt.NDArray[np.float32],
        timings: dict[str, float],
    ) -> list[Found] | None:
        """Rows of documents and scores; None if one is gone since, so that the search must be made again."""
        wanted = np.unique(snapshot.numbers[ids[ids >= 0]])
        with self.reading() as view:
            documents = view.documents(wanted.tolist())
        if len(documents) < len(wanted):
            return None
        found = []
        for row, values in zip(ids, scores, strict=True):
            numbers = snapshot.numbers[row[row >= 0]].tolist()
            pairs = zip(numbers, values.tolist(), strict=False)
            found.append(Found([(documents[number], score) for number, score in pairs], timings))
        return found

    def _verify(self, snapshot: Snapshot, view: CatalogView) -> None:
        """Before the first search of a small index, read what it will read once and compare checksums."""
        parts = [(stored.part, stored.files) for stored in snapshot.segments if stored.part.name not in self._verified]
        if CATALOG not in self._verified and self._file.bytes <= VERIFIED_BYTES:
            self._check_seal(read_manifest(self.path, KIND, VERSION))
            self._verified.add(CATALOG)
        size = sum(facts["bytes"] for _, files in parts for facts in files.values())
        if size <= VERIFIED_BYTES:
            for part, files in parts:
                verify_part(self.path, part, files)
        self._verified |= {part.name for part, _ in parts}

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
    named = {part.name for part in state.segments} | ({state.codec.name} if state.codec else set())
    for pattern in ("codec-[0-9]*", "segment-[0-9]*"):
        for leftover in folder.glob(pattern):
            if leftover.name not in named:
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
