"""Files that are left out, each with its reason."""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...files.regular_files import KINDS

EXPECTED = {
    "hidden": "its name begins with a dot",
    "ignored": "a .gitignore names it",
    "excluded": "by --include or --exclude",
    "index": "it is an index of asterism",
    "inner link": "a link to something in the same folder",
    "outer link": "a link that leads out of the folder",
    "binary": "not a text",
    "empty": "it has no text",
    "gone": "it went away before it was read",
}
BAD = {
    "broken link": "a link to nothing",
    "special file": "a fifo, socket or device",
    "no permission": "it may not be read; what the index has of it stays",
    "unreadable folder": "it cannot be listed; what the index has of it stays",
    "unreadable": "the system cannot read it; what the index has of it stays",
    "too large": "larger than a file may be",
    "encoding": "a text in an unknown encoding",
    "damaged": "not what its format says",
    "needs extra": "its format needs packages that are not installed",
    "not known": "there is no reader of its format",
    "id taken": "a document that is no passage of it has the id of one",
    "changing": "somebody writes it; what the index has of it stays",
}
REASONS = EXPECTED | BAD


@dataclass(frozen=True)
class SkippedFile:
    """A file or folder that was left out: `reason` is a key of REASONS, `detail` one line about this file."""

    file: str
    reason: str
    detail: str = ""

    @property
    def is_bad(self) -> bool:
        """Whether somebody may have expected it to be read; `strict` refuses these."""
        return self.reason in BAD

    @property
    def explanation(self) -> str:
        """The detail, or what the reason means."""
        return self.detail or REASONS[self.reason]

    def to_json(self) -> dict[str, Any]:
        """For `sync --json`."""
        return {"file": self.file, "reason": self.reason, "detail": self.explanation}


class Unusable(Exception):
    """A file cannot be used; caught where files are read, never shown to a caller."""

    def __init__(self, reason: str, detail: str = "") -> None:
        """See SkippedFile."""
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


def name_special(mode: int) -> str:
    """What a file is that is neither a file, a folder nor a link."""
    return f"it is a {KINDS.get(stat.S_IFMT(mode), 'special file')}"


def count_reasons(skipped: Iterable[SkippedFile]) -> dict[str, int]:
    """Reason -> how many, in the order of REASONS."""
    counts = Counter(one.reason for one in skipped)
    return {reason: counts[reason] for reason in REASONS if counts[reason]}
