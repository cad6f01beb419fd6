"""Where a passage of a file comes from, as people write it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def name_source(metadata: Mapping[str, Any]) -> str:
    """The file and the place: "notes/a.md:12–30", "report.pdf, p. 4", "a.xlsx, People:2"; empty if there is no file."""
    file, lines, page, sheet = (metadata.get(key) for key in ("file", "lines", "page", "sheet"))
    if not isinstance(file, str) or type(metadata.get("place")) is not int:
        return ""
    if type(page) is int:
        return f"{file}, p. {page}"
    if isinstance(lines, list) and len(lines) == 2 and all(type(line) is int for line in lines):
        first, last = lines
        inside = f"{file}, {sheet}" if isinstance(sheet, str) else file
        return f"{inside}:{first}" if first == last else f"{inside}:{first}–{last}"
    return file
