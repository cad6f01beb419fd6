"""An index that grows: documents and files are encoded and committed in batches."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from ..collection.collection import Collection
from ..collection.writer import CollectionWriter
from ..documents.document import Document
from ..documents.files.chunking import Chunking
from ..errors import DamagedIndex
from ..representations import Representations
from ..search.profile import UNMEASURED, Profile
from .add_counts import AddCounts
from .batches import split_batches
from .checks import check_folders, check_kind, check_progress
from .indexed_documents import IndexedDocuments
from .language import decide_language
from .model import LazyEncoder
from .profiling import FACT as PROFILE
from .profiling import is_outgrown, measure_profile, read_profile
from .represent import Progress, encode_batch
from .syncing.folders import Wishes
from .syncing.memory import read_folders
from .syncing.ownership import refuse_passages
from .syncing.report import SyncReport
from .syncing.sync import (
    FilesProgress,
    apply_changes,
    forget_folders,
    plan_changes,
    preview_changes,
    refuse_bad_files,
)


class GrowingIndex(IndexedDocuments):
    """The base of Retriever: an open index and the model of its documents, without searching."""

    def __init__(self, collection: Collection, encoder: LazyEncoder) -> None:
        """Use `Retriever.create` or `Retriever.open`."""
        super().__init__(collection)
        self._encoder = encoder

    def add(
        self,
        documents: Iterable[Document],
        *,
        update: bool = False,
        progress: Progress | None = None,
        wait: float | None = None,
    ) -> int:
        """Add documents from any iterable, in batches of 256; returns how many.

        Each batch is added completely or not at all; batches before an error stay. An id that exists is an error,
        unless `update` is true, which replaces the document. `progress` is called with the number of documents encoded.
        wait: seconds to wait for another writer to end, before IndexBusy; None for one.
        """
        return self.add_and_count(documents, update=update, progress=progress, wait=wait).total

    def add_and_count(
        self,
        documents: Iterable[Document],
        *,
        update: bool = False,
        progress: Progress | None = None,
        wait: float | None = None,
    ) -> AddCounts:
        """Add documents as `add` does; returns how many are new and how many replaced another."""
        check_progress(progress)
        counts = AddCounts()
        with self._collection.writing(wait) as writer:
            with self._collection.reading() as reader:
                folders = [folder.name for folder in read_folders(reader)]
            for batch in split_batches(documents, self._collection.policy):
                refuse_passages(batch, folders)
                writer.admit(batch, update)  # before anything is encoded
                content = self._encode(writer, batch, progress, counts.total)
                admitted = writer.admit(batch, update)  # again: the language may have given documents new numbers
                writer.add_admitted(admitted, content)
                counts += AddCounts(len(batch) - len(admitted.replaced), len(admitted.replaced))
            self._settle(writer)
        return counts

    def sync(
        self,
        folders: Sequence[str | os.PathLike[str]] = (),
        *,
        chunking: Chunking | None = None,
        include: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        strict: bool = False,
        dry_run: bool = False,
        progress: FilesProgress | None = None,
        wait: float | None = None,
    ) -> SyncReport:
        """Bring the index in step with folders of ordinary files; without folders, with those that it has.

        Changed files are replaced as a whole, files that are gone leave, unchanged ones are not read. Batches of files
        are commits of their own: after an interruption, the next sync goes on. What is not given is as it was at the
        last sync of a folder.

        chunking: how files are cut into passages · include, exclude: globs as in a .gitignore.
        strict: raise BadFiles before anything is written if a file cannot be read · dry_run: write nothing.
        progress: is called with the files that are done, and how many there are · wait: see `add`.
        """
        check_kind("chunking", chunking, Chunking | None, "Chunking(...)")
        check_progress(progress)
        given, wishes = check_folders(folders), Wishes(chunking, include, exclude)
        if dry_run:
            report = preview_changes(plan_changes(self._collection, given, wishes))
            if strict:
                refuse_bad_files(report)
            return report
        with self._collection.writing(wait) as writer:
            changes = plan_changes(self._collection, given, wishes)
            if strict:
                refuse_bad_files(preview_changes(changes))
            report = apply_changes(self._collection, writer, changes, self._encode, progress)
            self._settle(writer)
        return report

    def forget(self, folders: Sequence[str | os.PathLike[str]], *, wait: float | None = None) -> SyncReport:
        """Remove all files of some folders, which need not exist any more; their names in the index do as well."""
        given = check_folders(folders)
        with self._collection.writing(wait) as writer:
            return forget_folders(self._collection, writer, given, self._encode)

    def _encode(
        self,
        writer: CollectionWriter,
        batch: Sequence[Document],
        progress: Progress | None = None,
        done: int = 0,
    ) -> Representations:
        """All views of a batch; documents that are there already may get new numbers with their language."""
        if writer.views.undecided:
            decide_language(
                self._collection,
                writer,
                batch,
                lambda stored: encode_batch(stored, writer.views, self._encoder, None, 0),
            )
        return encode_batch(batch, writer.views, self._encoder, progress, done)

    def _settle(self, writer: CollectionWriter) -> None:
        """After the last batch: merge, train, and measure the profile if the index has outgrown it."""
        writer.settle()
        if is_outgrown(self._collection.facts(PROFILE), writer.state):
            self._store_profile(writer)

    def measure(self, *, keep: bool = True) -> Profile:
        """Measure how to read the scores of each view, for hybrid search; usual values if there is too little text.

        Done by itself whenever as many documents have been added as there were: sentences are taken out of some, and
        each view looks for the rest by them. keep: whether the index keeps the result.
        """
        if not keep:
            return measure_profile(self._collection, self._views, self._encoder)
        with self._collection.writing() as writer:
            return self._store_profile(writer)

    def _store_profile(self, writer: CollectionWriter) -> Profile:
        found = measure_profile(self._collection, self._views, self._encoder)
        kept = found
        if not found.pairs:
            with suppress(DamagedIndex):  # what was measured stays, unless it cannot be read
                kept = replace(
                    read_profile(self._collection) or UNMEASURED, documents=found.documents, added=found.added
                )
        writer.put_fact(PROFILE, kept.to_json())
        return found

    def update(
        self, documents: Iterable[Document], *, progress: Progress | None = None, wait: float | None = None
    ) -> int:
        """Add documents, replacing those whose ids exist."""
        return self.add(documents, update=True, progress=progress, wait=wait)

    def missing(self, documents: Iterable[Document], *, changed: bool = False) -> Iterator[Document]:
        """Those whose ids are not in the index: `retriever.add(retriever.missing(documents))` resumes an `add`.

        changed: also those that are another document there; then `retriever.update(...)` resumes it.
        """
        for batch in split_batches(documents, self._collection.policy):
            ids = [document.id for document in batch]
            if changed:
                there = {one.id: one for one in self._collection.get(ids, missing_ok=True)}
                yield from (document for document in batch if there.get(document.id) != document)
            else:
                known = self._collection.known(ids)
                yield from (document for document in batch if document.id not in known)
