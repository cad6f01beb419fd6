"""Documents and their views in one folder: durable, with consistent snapshots and one writer at a time.

papers.ast/
  manifest.json       kind and format version; a copy of views and model, for repairs
  catalog.sqlite      documents, fields, tombstones, the list of segments: its transaction is the commit point
  codec-000001/       centroids, levels and others, and codec.json with their sizes and checksums (immutable)
  segment-000002/     arrays, memory-mapped, and segment.json with their sizes and checksums (immutable)
  writer.lock         locked by the writer; writer.queue by the next one; the locks end with their process
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..documents.document import Document
from ..errors import IndexFolderError, UnknownDocument
from ..settings import TokenSearch, check_number, check_whole_number, count_threads
from ..storage.arrays import verify_folders
from ..storage.faults import damaged, report_write_errors
from ..storage.folders import make_index_folder, sweep_parts
from ..storage.lock import hold_writer_lock, keep_writers_out
from ..storage.manifest import read_manifest
from ..views.eligible import Mask
from ..views.hits import SearchHits
from .base import Base
from .catalog import Catalog, create_catalog
from .catalog_reader import CatalogReader
from .eligibility import Eligibility
from .filter_parsing import parse_filter
from .filters import Condition, is_fulfilled
from .format import KIND, PATIENCE, REPAIR, VERSION, read_views, write_collection_manifest
from .iteration import read_in_parts
from .kept_views import Views
from .policy import Policy
from .snapshot import Snapshot, positions
from .state import Numbers, upgrade_state
from .writer import CollectionWriter

MOST_WAIT = 1e6  # seconds
CHECK_PATIENCE = 60.0  # seconds that `check` waits for a writer

T = TypeVar("T")


@dataclass(frozen=True)
class Found:
    """Documents with their scores, best first, and the seconds of each stage."""

    documents: list[tuple[Document, float]]
    timings: dict[str, float]


class Collection:
    """An open folder. Every call sees the state that was committed last when the call began."""

    def __init__(self, path: Path, policy: Policy) -> None:
        """Use `open` or `create`."""
        self.path = path
        self.policy = policy
        self._catalog = Catalog(path)
        self._snapshot: Snapshot | None = None
        self._state_text = ""  # the stored state of the snapshot
        self._views: Views | None = None
        self._has_newest_format = False
        self._verified: set[str] = set()
        self._eligibility = Eligibility(policy)
        self._guard = threading.Lock()
        self._closed = False

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], views: Views, model: dict[str, Any], policy: Policy | None = None
    ) -> Collection:
        """Create an empty collection in a new folder; `model` describes the model of the vectors."""
        target = Path(path)
        facts = {"views": views.to_json(), "model": model}
        with make_index_folder(target) as inside:
            create_catalog(inside, facts)
            write_collection_manifest(inside, **facts)
        return cls.open(target, policy)

    @classmethod
    def open(cls, path: str | os.PathLike[str], policy: Policy | None = None) -> Collection:
        """Open a folder. Nothing in it is changed."""
        folder = Path(path).absolute()
        read_manifest(folder, KIND, VERSION)
        self = cls(folder, policy or Policy())
        try:
            self.snapshot()
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Close the files; mapped files are released with the last snapshot."""
        if not self._closed:
            self._closed = True
            self._catalog.close()
            self._snapshot = None

    def __repr__(self) -> str:
        """The folder, and how many documents it had when it was last read."""
        known = "closed" if self._snapshot is None else f"{self._snapshot.state.documents:,} documents"
        return f"<Collection {str(self.path)!r}, {known}>"

    def __del__(self) -> None:
        """Close the descriptors if the caller did not."""
        if hasattr(self, "_closed"):
            self.close()

    @contextmanager
    def writing(self, wait: float | None = None) -> Iterator[CollectionWriter]:
        """Hold the writer lock, or raise IndexBusy if another writer does. Each call of the writer is one commit.

        wait: seconds to wait for another writer; None for one.
        """
        self._refuse_closed()
        patience = PATIENCE if wait is None else check_number("wait", wait, 0, MOST_WAIT)
        with hold_writer_lock(self.path, patience), report_write_errors(self.path):
            self._catalog.recover()
            if not self._has_newest_format:
                self._upgrade()
            snapshot = self.snapshot()
            sweep_parts(self.path, snapshot.state.folders)
            base = Base.from_snapshot(snapshot)
            yield CollectionWriter(self.path, self._catalog, self.snapshot, base, self.views(), self.policy)

    @contextmanager
    def reading(self) -> Iterator[CatalogReader]:
        """A transaction of the catalog."""
        self._refuse_closed()
        with self._catalog.reading() as reader:
            yield reader

    def facts(self, name: str) -> dict[str, Any]:
        """A JSON object that is stored with the collection, such as `model`; {} if there is none."""
        with self.reading() as reader:
            return reader.fact(name)

    def views(self) -> Views:
        """The views given to `create`, read again until a process has decided their language."""
        if self._views is None or self._views.undecided:
            with self.reading() as reader:
                self._views = read_views(reader)
        return self._views

    def snapshot(self) -> Snapshot:
        """The newest committed state."""
        with self.reading() as reader:
            return self._open_newest(reader)

    def get(self, ids: Sequence[str], missing_ok: bool = False) -> list[Document]:
        """The documents with these ids, in their order; UnknownDocument if one is missing, unless this is ok."""
        with self.reading() as reader:
            numbers = reader.find_numbers(list(ids))
            for id in ids:
                if id not in numbers and not missing_ok:
                    raise UnknownDocument(f"there is no document with the id {id!r} in {self.path}")
            documents = reader.documents(list(numbers.values()))
            return [documents[numbers[id]] for id in ids if id in numbers]

    def known(self, ids: Sequence[str]) -> set[str]:
        """The ids that are in the collection."""
        with self.reading() as reader:
            return set(reader.find_numbers(list(ids)))

    def documents(
        self, filter: Mapping[str, Any] | None = None, offset: int = 0, limit: int | None = None
    ) -> Iterator[Document]:
        """The documents of the current state that match a filter, in the order in which they were added.

        Without the first `offset`, and at most `limit`. While this runs, those that are removed are left out, and those
        that change come last, as they are then, if they still match.
        """
        condition = None if filter is None else parse_filter(filter)
        with self.reading() as reader:
            numbers = self._match(reader, filter)[offset : None if limit is None else offset + limit]
            hashes, newest = reader.hash_ids(numbers), reader.find_newest_number()
        for number, document in read_in_parts(self.reading, numbers, hashes, newest):
            if number <= newest:
                self._refuse_others([document], condition)
            elif condition is not None and not is_fulfilled(condition, document.metadata):
                continue
            yield document

    def match(self, filter: Mapping[str, Any] | None = None) -> Numbers:
        """(n,) the numbers of the documents that match a filter, ascending."""
        with self.reading() as reader:
            return self._match(reader, filter)

    def _match(self, reader: CatalogReader, filter: Mapping[str, Any] | None) -> Numbers:
        if filter is None:
            return reader.read_all_numbers()
        snapshot = self._open_newest(reader)
        eligible = self._eligibility.find(snapshot, reader, filter)
        return snapshot.numbers if eligible is None else snapshot.numbers[eligible]

    def find(
        self, search: Callable[[Snapshot, Mask | None], SearchHits], filter: Mapping[str, Any] | None = None
    ) -> list[Found]:
        """Run a search on the newest state, among the documents that match a filter; one result for each query.

        `search` receives that state and the eligible documents (documents,), None for all. It is called again if
        documents that it found were deleted in the meantime.
        """
        while True:
            with self.reading() as reader:
                snapshot = self._open_newest(reader)
                eligible = self._eligibility.find(snapshot, reader, filter)
            self._verify(snapshot)
            hits = search(snapshot, eligible)
            found = self._read_documents(snapshot, hits, filter)
            if found is not None:
                return found
            if self.snapshot().state == snapshot.state:  # they were not deleted
                raise damaged(self.path, "has segments with documents that its catalog lacks")

    def search(
        self, query: npt.ArrayLike, k: int, settings: TokenSearch, filter: Mapping[str, Any] | None = None
    ) -> Found:
        """Token vectors (tokens, d) -> the k best of the documents that match a filter."""

        def search(snapshot: Snapshot, eligible: Mask | None) -> SearchHits:
            if snapshot.multi is None:
                check_whole_number("k", k, 1)
                return SearchHits.none(1)
            searcher = snapshot.multi.with_settings(settings)
            return searcher.search(searcher.gather([query]), k, eligible)

        return self.find(search, filter)[0]

    def look_at(
        self, id: str, look: Callable[[Snapshot, int, Mask | None], T], filter: Mapping[str, Any] | None = None
    ) -> tuple[Document, T]:
        """A document, and the result of `look` for the newest state, its place there, and the eligible documents."""
        with self.reading() as reader:
            number = reader.find_numbers([id]).get(id)
            if number is None:
                raise UnknownDocument(f"there is no document with the id {id!r} in {self.path}")
            document = reader.documents([number])[number]
            snapshot = self._open_newest(reader)
            eligible = self._eligibility.find(snapshot, reader, filter)
        self._verify(snapshot)
        place = positions(snapshot.numbers, [number])
        if not len(place):
            raise damaged(self.path, f"has no segment with the document {id!r}")
        return document, look(snapshot, int(place[0]), eligible)

    def put_fact(self, name: str, value: dict[str, Any]) -> None:
        """Store a JSON object with the collection."""
        with self.writing() as writer:
            writer.put_fact(name, value)

    def check(self) -> None:
        """Read everything and compare checksums; raises DamagedIndex for the first error found.

        Writers wait while the catalog is read; searches do not.
        """
        read_manifest(self.path, KIND, VERSION)
        self.snapshot()  # first undo the commit of a killed writer, which needs the lock
        with keep_writers_out(self.path, CHECK_PATIENCE), self.reading() as reader:
            reader.check()
            snapshot = Snapshot.open(self.path, reader, reader.state(), None)
            self._check_views(snapshot, read_views(reader))
            if not np.array_equal(snapshot.numbers[snapshot.kept], reader.read_all_numbers()):
                raise damaged(self.path, "has segments and a catalog that do not hold the same documents")
        if snapshot.codec is not None:
            snapshot.codec.verify()
        verify_folders((folder for stored in snapshot.segments for folder in stored.folders), count_threads(0))

    def bytes(self) -> int:
        """Size of all files of the newest state."""
        return self.snapshot().bytes + os.stat(self._catalog.path).st_size

    def _open_newest(self, reader: CatalogReader) -> Snapshot:
        with self._guard:
            text, known = reader.state_text(), self._snapshot
            if known is not None and text == self._state_text:
                return known
            state = reader.state()
            if known is not None and known.state.identity not in ("", state.identity):
                raise IndexFolderError(f"{self.path} was replaced by another index: open it again")
            if reader.fact(REPAIR):
                raise damaged(self.path, "is only partly repaired, because the repair was interrupted: run it again")
            opened = Snapshot.open(self.path, reader, state, known)
            self._check_views(opened, self._views or read_views(reader))
            self._snapshot, self._state_text = opened, text
            self._eligibility.forget()
            return opened

    def _check_views(self, snapshot: Snapshot, views: Views) -> None:
        if snapshot.segments and set(snapshot.segments[0].views) != set(views.names):
            raise damaged(self.path, "has segments with other views than the collection")
        if snapshot.lexical is not None and not snapshot.lexical.is_weighted_by(views.counting):
            raise damaged(self.path, "has segments whose terms are weighted by other settings than the collection's")

    def _read_documents(
        self, snapshot: Snapshot, hits: SearchHits, filter: Mapping[str, Any] | None
    ) -> list[Found] | None:
        """The documents and scores of each query; None if one was deleted and the search must be repeated."""
        wanted = np.unique(snapshot.numbers[hits.ids[hits.ids >= 0]])
        with self.reading() as reader:
            documents = reader.documents(wanted.tolist())
        if len(documents) < len(wanted):
            return None
        self._refuse_others(documents.values(), None if filter is None else parse_filter(filter))
        found = []
        for row, values in zip(hits.ids, hits.scores, strict=True):
            numbers = snapshot.numbers[row[row >= 0]].tolist()
            pairs = zip(numbers, values.tolist(), strict=False)
            found.append(Found([(documents[number], score) for number, score in pairs], hits.timings))
        return found

    def _refuse_others(self, documents: Iterable[Document], condition: Condition | None) -> None:
        """Damaged fields must not add documents."""
        if condition is not None and not all(is_fulfilled(condition, document.metadata) for document in documents):
            raise damaged(self.path, "has fields that are not those of its documents")

    def _verify(self, snapshot: Snapshot) -> None:
        """Before the first search of a small index, compare the checksums of its segments."""
        segments = [stored for stored in snapshot.segments if stored.part.name not in self._verified]
        if segments and sum(stored.bytes for stored in segments) <= self.policy.verified_bytes:
            verify_folders((folder for stored in segments for folder in stored.folders), count_threads(0))
        self._verified |= {stored.part.name for stored in segments}

    def _upgrade(self) -> None:
        """Upgrade to the newest format, after a full check of the catalog."""
        if read_manifest(self.path, KIND, VERSION).whole("version") < VERSION:
            with self._catalog.writing() as edit:
                edit.check()
                state = edit.state()
                facts = {"views": read_views(edit).to_json(), "model": edit.fact("model")}
                edit.put_fact("views", facts["views"])
                edit.put_state(upgrade_state(state, edit.tombstones()))
            write_collection_manifest(self.path, **facts)
        self._has_newest_format = True

    def _refuse_closed(self) -> None:
        if self._closed:
            raise IndexFolderError(f"{self.path} was closed: open it again")
