"""Where a passage of a file comes from, as people write it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def name_source(metadata: Mapping[str, Any]) -> str:
    """The file and the place: "notes/a.md:12–30", "report.pdf, p. 4"; empty if the document is not from a file."""
    file, lines, page = metadata.get("file"), metadata.get("lines"), metadata.get("page")
    if not isinstance(file, str) or type(metadata.get("place")) is not int:
        return ""
    if type(page) is int:
        return f"{file}, p. {page}"
    if isinstance(lines, list) and len(lines) == 2 and all(type(line) is int for line in lines):
        first, last = lines
        return f"{file}:{first}" if first == last else f"{file}:{first}–{last}"
    return file
