"""What an index has, to compare two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from asterism import Retriever, SyncReport

Content = dict[str, tuple[str, str, Any]]


def content_of(retriever: Retriever) -> Content:
    """Id -> title, text and metadata."""
    return {document.id: (document.title, document.text, document.metadata) for document in retriever}


def content_afresh(path: Path, *folders: Path, **settings: Any) -> Content:
    """Of a new index of the same folders."""
    with Retriever.create(path, views=["lexical"]) as fresh:
        fresh.sync(folders, **settings)
        return content_of(fresh)


def counts(report: SyncReport) -> tuple[int, int, int, int]:
    """Read, replaced, unchanged, removed files."""
    return report.read, report.replaced, report.unchanged, report.removed
