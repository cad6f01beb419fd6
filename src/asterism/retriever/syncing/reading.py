"""Reads the files that may have changed: what to do with each, decided by its content."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...documents.document import Document
from ...documents.files.documents import make_documents
from ...documents.files.passages import UnreadableFile
from ...documents.files.reading import find_format, read_file
from ...documents.folders.names import make_stem
from ...documents.folders.skipping import SkippedFile, Unusable
from ...documents.folders.taking import Taken, take_file
from ...documents.folders.walking import FoundFile
from ...errors import DocumentError
from .changes import Changes
from .memory import KnownFile

STAYING = ("no permission", "unreadable", "changing")  # reasons that pass: what the index has stays until then

NEEDS_EXTRA = "needs extra"


@dataclass(frozen=True)
class FileChange:
    """What one file brings.

    outcome: "new", "changed", "unchanged" or "skipped" · known: what to remember, None for nothing · keeps: whether the
    passages that the index has stay · skipped: why there are no documents · encoding: if it is not UTF-8.
    """

    file: str
    outcome: str
    known: KnownFile | None = None
    keeps: bool = False
    documents: list[Document] = field(default_factory=list)
    skipped: SkippedFile | None = None
    encoding: str | None = None


def examine_file(file: str, found: FoundFile, changes: Changes) -> FileChange:
    """Read one file, and compare its content with what is known of it."""
    chunking = changes.chosen.folder.chunking
    try:
        taken = take_file(found.path, find_format(found.path.name) is not None)
    except Unusable as error:
        skipped, stays = SkippedFile(file, error.reason, error.detail), error.reason in STAYING
        return FileChange(file, "skipped", changes.memory.files.get(file) if stays else None, stays, skipped=skipped)
    before = changes.memory.recall(file, chunking)
    if before is not None and before.sha256 == taken.sha256:
        known = KnownFile(taken.stamp, taken.sha256, chunking, before.passages, before.reason, before.detail)
        skipped_again = SkippedFile(file, before.reason, before.detail) if before.reason else None
        outcome = "skipped" if before.reason else "unchanged"
        return FileChange(file, outcome, known, True, skipped=skipped_again)
    return _read_passages(file, found, taken, changes)


def _read_passages(file: str, found: FoundFile, taken: Taken, changes: Changes) -> FileChange:
    chunking = changes.chosen.folder.chunking

    def skip(reason: str, detail: str, remember: bool = True) -> FileChange:
        known = KnownFile(taken.stamp, taken.sha256, chunking, 0, reason, detail) if remember else None
        return FileChange(file, "skipped", known, skipped=SkippedFile(file, reason, detail))

    try:
        if taken.is_binary:
            return skip("binary", "")
        content = read_file(file, taken.data, chunking)
        documents = make_documents(file, content)
    except UnreadableFile as error:  # a package may be installed before the next sync
        return skip(error.reason, str(error).removeprefix(f"{file}: "), error.reason != NEEDS_EXTRA)
    except DocumentError as error:
        return skip("damaged", str(error))
    if not documents:
        return skip("empty", "")
    if taken_ids := [one.id for one in documents if one.id in changes.memory.foreign]:  # which may be free next time
        return skip("id taken", f"another document has the id {taken_ids[0]!r}: delete that one", remember=False)
    held = changes.memory.held.get(make_stem(file))
    known = KnownFile(taken.stamp, taken.sha256, chunking, len(documents))
    return FileChange(file, "changed" if held else "new", known, False, documents, encoding=content.encoding)
