"""A source of two small files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from asterism.errors import DownloadError

CONTENT = {"config.json": b"{}", "sub/weights.bin": b"12345"}


HASHES = {name: hashlib.sha256(value).hexdigest() for name, value in CONTENT.items()}


@dataclass(frozen=True)
class Files:
    """A source that has these files."""

    content: tuple[tuple[str, bytes], ...]

    def find_installed(self) -> Path | None:
        return None

    def fetch(self, names: Iterable[str], to: Path, revision: str | None) -> None:
        for name, value in self.content:
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            (to / name).write_bytes(value)
        if dict(self.content).get("config.json") == b"broken":
            raise DownloadError("the line went dead")


GOOD = Files(tuple(CONTENT.items()))
