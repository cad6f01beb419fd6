"""Documents from tab-separated lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import DocumentError
from .document import Document
from .lines import Located, PathLike, drop_places, make_located, read_lines

MOST_LISTED = 20


def read_tsv(path: PathLike) -> Iterator[Document]:
    """Columns id, text or id, title, text, or those of a header line that begins with `id` or `_id`. No quoting."""
    return drop_places(read_located_tsv(path))


def read_located_tsv(path: PathLike, name: str = "") -> Iterator[Located]:
    """The same documents with their FILE:LINE; `name` replaces FILE."""
    columns: list[str] = []
    for where, line in read_lines(path, name):
        cells = line.split("\t")
        if not columns:
            columns = _name_columns(where, cells)
            if is_header(cells):
                continue
        if len(cells) != len(columns):
            raise DocumentError(
                f"{where}: {len(cells)} columns, expected {len(columns)} ({_join_names(columns)}) as in the first line"
            )
        row: dict[str, Any] = dict(zip(columns, cells, strict=True))
        yield make_located(where, row.pop("_id"), row.pop("text"), row.pop("title", ""), row)


def is_header(cells: list[str]) -> bool:
    """Whether a first line names the columns."""
    return cells[0].lower() in ("id", "_id")


def _name_columns(where: str, cells: list[str]) -> list[str]:
    """The names of the columns: from the header, or by the number of columns in the first line."""
    if not is_header(cells):
        known = {2: ["_id", "text"], 3: ["_id", "title", "text"]}
        if len(cells) not in known:
            raise DocumentError(
                f"{where}: {len(cells)} columns, expected 2 (id, text), 3 (id, title, text) or a header line that "
                "begins with id"
            )
        return known[len(cells)]
    names = ["_id"] + [cell.lower() if cell.lower() in ("text", "title") else cell for cell in cells[1:]]
    if "text" not in names:
        raise DocumentError(f"{where}: the header has no column text: it has {_join_names(cells)}")
    before: set[str] = set()
    for number, name in enumerate(names, 1):
        if not name or name in before:
            raise DocumentError(f"{where}: column {number} of the header is {name!r}, expected a unique name")
        before.add(name)
    return names


def _join_names(names: list[str]) -> str:
    """At most MOST_LISTED names, for a message."""
    return ", ".join(names[:MOST_LISTED]) + (", …" if len(names) > MOST_LISTED else "")
