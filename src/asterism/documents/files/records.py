"""Records, of tables and of JSON: their text, title and metadata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .chunking import Chunking
from .metadata import take_metadata
from .packing import Cut, Piece, Section, pack_passages, shorten_heading
from .passages import Passage, Place
from .source import SourceWriter
from .unzipping import check_size

LONGEST_NAME = 200  # characters of a name with dots


def pack_records(records: Iterable[tuple[Any, Place]], chunking: Chunking) -> Iterator[Passage]:
    """The passages of records: at least one each.

    `text` and `title` are what they say, `_id` or `id` becomes the metadata's `id`, `metadata` and all other fields are
    metadata. A record without a text, or one that is not an object, is written as lines of `name: value`.
    """
    writer = SourceWriter()
    sections = []
    for record, place in records:
        headings, text, metadata, cut = _read_record(record)
        if text.strip():
            sections.append(Section(headings, [Piece(*writer.add(text, place), cut)], metadata))
    return pack_passages(writer.finish(), sections, chunking)


def _read_record(record: Any) -> tuple[tuple[str, ...], str, dict[str, Any], Cut]:
    """Its title, its text, its metadata, and where it is cut."""
    if not isinstance(record, dict):
        return (), "\n".join(write_lines("", record)), {}, "lines"
    fields = dict(record)
    names = {str(name).lower(): name for name in reversed(fields)}
    id = fields.pop(names.get("_id", names.get("id", "id")), None)
    title = fields.pop(names.get("title", "title"), None)
    text = fields.pop(names.get("text", "text"), None)
    headings = (shorten_heading(str(title)),) if isinstance(title, str | int | float) and str(title).strip() else ()
    inner = fields.get("metadata")
    plain = fields if not isinstance(inner, Mapping) else {**fields.pop("metadata"), **fields}
    metadata = take_metadata(plain | ({} if id is None else {"id": id}))
    if isinstance(text, str) and text.strip():
        return headings, text, metadata, "sentences"
    return headings, "\n".join(write_lines("", plain)) or " ".join(headings), metadata, "lines"


def write_lines(name: str, value: Any) -> list[str]:
    """A JSON value as lines of `name: value`; names of inner fields have dots, a list of plain values is one line."""
    lines: list[str] = []
    length = 0
    waiting = [(name, value)]
    while waiting:  # no recursion: a file may be nested as deeply as it likes
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(_join_names(name, str(key)), item) for key, item in reversed(value.items())]
        elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
            waiting += [(name, item) for item in reversed(value)]
        else:
            text = ", ".join(map(_write_plain, value)) if isinstance(value, list) else _write_plain(value)
            if text:
                lines.append(f"{name}: {text}" if name else text)
                length += len(lines[-1])
                check_size(length)  # names are repeated
    return lines


def _join_names(outer: str, inner: str) -> str:
    name = f"{outer}.{inner}" if outer else inner
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _write_plain(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "", True: "true", False: "false"}[value]
    return str(value)
