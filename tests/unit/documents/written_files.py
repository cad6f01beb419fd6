"""Files that the tests of readers read."""

from __future__ import annotations

from pathlib import Path

from asterism.documents.document import Document

BEIR = b'{"_id": "a", "title": "T", "text": "one", "metadata": {"year": 1999}}\n{"_id": "b", "text": "two"}\n'


TWO = [Document("a", "one", "T", {"year": 1999}), Document("b", "two")]


def write(path: Path, content: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
