"""What a sync did, or would do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...documents.folders.skipping import SkippedFile, count_reasons


@dataclass(frozen=True)
class SyncReport:
    """Numbers of files, and those that somebody should look at.

    folders             paths of the folders
    read                files that are new in the index
    replaced            files that changed, and were replaced as a whole
    unchanged           files that stay as they are
    removed             files that are gone, or not wanted any more
    passages            passages of new and changed files
    passages_replaced   those of them that took the place of one with the same id
    passages_removed    passages that left, of removed and changed files
    skipped             what was left out, and why
    encodings           (file, encoding) of new and changed texts that are not UTF-8
    moved               (old path, new path) of folders that were found elsewhere
    missing             paths of other folders of the index that are gone; what it has of them stays
    dry_run             whether nothing was written
    """

    folders: tuple[str, ...] = ()
    read: int = 0
    replaced: int = 0
    unchanged: int = 0
    removed: int = 0
    passages: int = 0
    passages_replaced: int = 0
    passages_removed: int = 0
    skipped: tuple[SkippedFile, ...] = field(default=(), repr=False)
    encodings: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    moved: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    missing: tuple[str, ...] = field(default=(), repr=False)
    dry_run: bool = False

    @property
    def reasons(self) -> dict[str, int]:
        """Reason -> how many files or folders were skipped for it."""
        return count_reasons(self.skipped)

    @property
    def bad(self) -> tuple[SkippedFile, ...]:
        """Skipped files that somebody may have expected to be read."""
        return tuple(one for one in self.skipped if one.is_bad)

    @property
    def changed(self) -> bool:
        """Whether any file was new, changed or gone."""
        return bool(self.read or self.replaced or self.removed)

    def to_json(self) -> dict[str, Any]:
        """The object `sync` of results/schema.json."""
        return {
            "folders": list(self.folders),
            "read": self.read,
            "replaced": self.replaced,
            "unchanged": self.unchanged,
            "removed": self.removed,
            "passages": self.passages,
            "passages_replaced": self.passages_replaced,
            "passages_removed": self.passages_removed,
            "skipped": self.reasons,
            "skipped_files": [one.to_json() for one in self.skipped],
            "encodings": [{"file": file, "encoding": encoding} for file, encoding in self.encodings],
            "moved": [{"from": before, "to": now} for before, now in self.moved],
            "missing": list(self.missing),
            "dry_run": self.dry_run,
        }
