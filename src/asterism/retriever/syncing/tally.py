"""Counts what a sync does, or would do, while files are read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...documents.folders.names import make_stem
from ...documents.folders.skipping import SkippedFile
from .changes import Plan
from .memory import FolderMemory
from .reading import FileChange
from .report import SyncReport


@dataclass
class Tally:
    """Files by their outcome, files that leave, passages, and what somebody should look at."""

    counts: dict[str, int] = field(default_factory=lambda: {"new": 0, "changed": 0, "unchanged": 0, "skipped": 0})
    removed: int = 0
    passages: int = 0
    passages_replaced: int = 0
    passages_removed: int = 0
    skipped: list[SkippedFile] = field(default_factory=list)
    encodings: list[tuple[str, str]] = field(default_factory=list)

    def note(self, change: FileChange, memory: FolderMemory) -> None:
        """Count one file that was read."""
        self.counts[change.outcome] += 1
        if change.skipped is not None:
            self.skipped.append(change.skipped)
        if change.encoding is not None:
            self.encodings.append((change.file, change.encoding))
        if change.keeps:
            return
        before, after = set(memory.find_ids(make_stem(change.file))), {document.id for document in change.documents}
        self.removed += bool(before) and not after
        self.passages += len(after)
        self.passages_replaced += len(before & after)
        self.passages_removed += len(before - after)

    def note_removed(self, stems: Iterable[str], memory: FolderMemory) -> None:
        """Count files that are gone; those without passages were none of the index."""
        held = [len(memory.held.get(stem, ())) for stem in stems]
        self.removed += sum(map(bool, held))
        self.passages_removed += sum(held)

    def report(self, plan: Plan, dry_run: bool) -> SyncReport:
        """The sums of all folders."""
        skipped = [one for folder in plan.changes for one in folder.skipped] + self.skipped
        return SyncReport(
            folders=tuple(one.chosen.folder.path for one in plan.changes),
            read=self.counts["new"],
            replaced=self.counts["changed"],
            unchanged=self.counts["unchanged"] + sum(one.unchanged for one in plan.changes),
            removed=self.removed,
            passages=self.passages,
            passages_replaced=self.passages_replaced,
            passages_removed=self.passages_removed,
            skipped=tuple(sorted(skipped, key=lambda one: (one.file, one.reason))),
            encodings=tuple(self.encodings),
            moved=tuple((one.moved_from, one.folder.path) for one in plan.chosen if one.moved_from),
            missing=plan.missing,
            dry_run=dry_run,
        )
