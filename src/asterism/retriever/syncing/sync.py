"""Brings an index in step with folders: one commit for each batch of files, so that it may be stopped at any moment.

Files that are gone leave first. The passages of a changed file leave in the commit that adds the first new ones, and
what is remembered of it is stored by the commit that adds the last: a file that was half read is read again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from ...collection.collection import Collection
from ...collection.writer import CollectionWriter
from ...documents.document import Document
from ...documents.folders.names import make_stem
from ...documents.folders.skipping import count_reasons
from ...errors import BadFiles, InputError
from ...representations import Representations
from .changes import Plan, find_changes
from .folders import Wishes, choose_folders, find_known_folders
from .memory import FILE, FOLDER, FolderMemory, KnownFolder, list_files, read_folders
from .reading import FileChange, examine_file
from .report import SyncReport
from .single_files import find_single_files
from .tally import Tally

Encode = Callable[[CollectionWriter, Sequence[Document]], Representations]
FilesProgress = Callable[[int, int], None]  # files that are done, and how many there are

MOST_FACTS = 1000  # files of one commit


@dataclass
class _Batch:
    """What the next commit does."""

    removed: list[str] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    facts: dict[str, dict[str, object] | None] = field(default_factory=dict)


def plan_changes(collection: Collection, given: Sequence[str | os.PathLike[str]], wishes: Wishes) -> Plan:
    """Look at the folders and compare them with the index; reads no file."""
    with collection.reading() as reader:
        choice = choose_folders(given, read_folders(reader), wishes, collection.path, partial(list_files, reader))
        memories = [FolderMemory.read(reader, one.folder.name, find_single_files(reader, one)) for one in choice.chosen]
    found = (find_changes(one, memory, collection.path) for one, memory in zip(choice.chosen, memories, strict=True))
    return Plan(tuple(found), choice.missing)


def preview_folders(given: Sequence[str | os.PathLike[str]], wishes: Wishes, index: Path, strict: bool) -> None:
    """Refuse folders without any file that can be read, before an index of them is made; with `strict`, bad files."""
    chosen = choose_folders(given, [], wishes, index).chosen
    changes = tuple(find_changes(one, FolderMemory(), index) for one in chosen)
    if strict:
        refuse_bad_files(preview_changes(Plan(changes)))
    read = (examine_file(file, found, folder) for folder in changes for file, found in folder.doubtful)
    skipped = [one for folder in changes for one in folder.skipped]
    for change in read:  # usually the first file is one that can be read
        if change.skipped is None:
            return
        skipped.append(change.skipped)
    why = ", ".join(f"{count:,} {reason}" for reason, count in count_reasons(skipped).items()) or "nothing is there"
    named = ", ".join(str(one.path) for one in chosen)
    raise InputError(f"{named}: no file that can be read, expected at least one ({why})")


def preview_changes(plan: Plan) -> SyncReport:
    """What a sync would do: every file that may have changed is read, and nothing is written."""
    tally = Tally()
    for folder in plan.changes:
        tally.note_removed(folder.removed, folder.memory)
        for file, found in folder.doubtful:
            tally.note(examine_file(file, found, folder), folder.memory)
    return tally.report(plan, dry_run=True)


def refuse_bad_files(report: SyncReport) -> None:
    """Raise BadFiles if files were skipped that somebody may have expected to be read."""
    if report.bad:
        raise BadFiles([(one.file, one.explanation) for one in report.bad])


def apply_changes(
    collection: Collection,
    writer: CollectionWriter,
    plan: Plan,
    encode: Encode,
    progress: FilesProgress | None,
) -> SyncReport:
    """Read what may have changed, and commit it in batches."""
    return _Applying(collection, writer, encode, progress).run(plan)


def forget_folders(
    collection: Collection, writer: CollectionWriter, given: Sequence[str | os.PathLike[str]], encode: Encode
) -> SyncReport:
    """Remove all files of some folders from the index, and forget the folders."""
    with collection.reading() as reader:
        folders = find_known_folders(given, read_folders(reader), collection.path, partial(list_files, reader))
        memories = [FolderMemory.read(reader, folder.name, {}) for folder in folders]
    tally, applying = Tally(), _Applying(collection, writer, encode, None)
    for folder, memory in zip(folders, memories, strict=True):
        names = {make_stem(file): file for file in memory.files}
        stems = {stem: names.get(stem, "") for stem in sorted(memory.held.keys() | names.keys())}
        tally.note_removed(stems, memory)
        applying.remove(stems, memory)
        writer.exchange([], [], Representations(0), {FOLDER + folder.name: None})
    return replace(tally.report(Plan(), dry_run=False), folders=tuple(folder.path for folder in folders))


class _Applying:
    """Commits what files bring, together up to the size of a batch."""

    def __init__(
        self, collection: Collection, writer: CollectionWriter, encode: Encode, progress: FilesProgress | None
    ) -> None:
        self._collection = collection
        self._writer = writer
        self._encode = encode
        self._progress = progress
        self._batch = _Batch()
        self._characters = 0

    def run(self, plan: Plan) -> SyncReport:
        """All folders, one after another."""
        tally = Tally()
        self._remember_folders([one.chosen.folder for one in plan.changes])
        for folder in plan.changes:
            tally.note_removed(folder.removed, folder.memory)
            self.remove(folder.removed, folder.memory)
        done, total = 0, sum(len(one.doubtful) for one in plan.changes)
        for folder in plan.changes:
            for file, found in folder.doubtful:
                change = examine_file(file, found, folder)
                tally.note(change, folder.memory)
                self._take(change, folder.memory)
                done += 1
                if self._progress is not None:
                    self._progress(done, total)
        self._commit()
        return tally.report(plan, dry_run=False)

    def remove(self, stems: dict[str, str], memory: FolderMemory) -> None:
        """Remove files that are gone."""
        for stem, file in stems.items():
            self._batch.removed += memory.find_ids(stem)
            if file:
                self._batch.facts[FILE + file] = None
            self._commit_if_full()
        self._commit()

    def _remember_folders(self, folders: Sequence[KnownFolder]) -> None:
        """Before their files: whatever is committed must be known to belong to a folder."""
        for folder in folders:
            if self._collection.facts(FOLDER + folder.name) != folder.to_fact():
                self._batch.facts[FOLDER + folder.name] = folder.to_fact()
        self._commit()

    def _take(self, change: FileChange, memory: FolderMemory) -> None:
        """Add one file to the batch; a large one has batches of its own."""
        fact = None if change.known is None else change.known.to_fact()
        if change.keeps:
            self._batch.facts[FILE + change.file] = fact
            self._commit_if_full()
            return
        parts = list(self._split(change.documents))
        if len(self._batch.documents) + len(change.documents) > self._collection.policy.batch_documents:
            self._commit()
        stem = make_stem(change.file)
        self._batch.removed += memory.find_ids(stem)
        if (single := memory.singles.get(stem)) is not None:
            self._batch.facts[FILE + single.name] = None
        for i, part in enumerate(parts or [[]]):
            self._batch.documents += part
            self._characters += sum(len(document.text) for document in part)
            is_last = i >= len(parts) - 1
            self._batch.facts[FILE + change.file] = fact if is_last else None
            if not is_last:
                self._commit()
        self._commit_if_full()

    def _split(self, documents: Sequence[Document]) -> Iterator[list[Document]]:
        size = self._collection.policy.batch_documents
        return (list(documents[start : start + size]) for start in range(0, len(documents), size))

    def _commit_if_full(self) -> None:
        policy, batch = self._collection.policy, self._batch
        if (
            len(batch.documents) >= policy.batch_documents
            or self._characters >= policy.batch_characters
            or max(len(batch.facts), len(batch.removed)) >= MOST_FACTS
        ):
            self._commit()

    def _commit(self) -> None:
        batch, self._batch, self._characters = self._batch, _Batch(), 0
        if not (batch.removed or batch.documents or batch.facts):
            return
        content = self._encode(self._writer, batch.documents) if batch.documents else Representations(0)
        self._writer.exchange(batch.removed, batch.documents, content, batch.facts)
