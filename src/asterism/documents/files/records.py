"""Records, of tables and of JSON: their text, title and metadata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .chunking import Chunking
from .metadata import take_metadata
from .packing import LONGEST_HEADING, Cut, Piece, Section, pack_passages, shorten_heading
from .passages import Passage, Place
from .source import SourceWriter
from .unzipping import check_size

WRITTEN = ("text", "title")  # fields that are what they say, with small letters or large
LONGEST_NAME = 200  # characters of a name with dots


def pack_records(records: Iterable[tuple[Any, Place]], chunking: Chunking) -> Iterator[Passage]:
    """The passages of records: at least one of each that says more than its id.

    `text` and `title` are what they say, `_id` or `id` becomes the metadata's `id`, `metadata` and all other fields are
    metadata. A record without a text, or one that is not an object, is written as lines of `name: value`. So is a title
    that is an object, before the text.
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
    text, title = (_take_text(fields, names.get(name, name)) for name in WRITTEN)
    headings = (shorten_heading(title),) if title.strip() else ()
    inner = fields.get("metadata")
    plain = fields if not isinstance(inner, Mapping) else {**fields.pop("metadata"), **fields}
    metadata = take_metadata(plain | ({} if id is None else {"id": id}))
    first = [title] if len(title) > LONGEST_HEADING else []  # what the heading does not say
    if text.strip():
        first += write_lines("title", plain.get(names.get("title", "title")))
        return headings, "\n".join([*first, text]), metadata, "sentences"
    return headings, "\n".join([*first, *write_lines("", plain)]) or " ".join(headings), metadata, "lines"


def _take_text(fields: dict[Any, Any], name: Any) -> str:
    """Remove a field that can be read as a text, and return the text; leave any other where it is."""
    text = _join_text(fields.get(name))
    if text is None:
        return ""
    fields.pop(name, None)
    return text


def _join_text(value: Any) -> str | None:
    """Nothing, a string, a number, or a list of them as one text; None if it is something else.

    Telegram writes a message with links as a list of strings and objects (`type`, `text`), which are one line.
    """
    if value is None or isinstance(value, str):
        return value or ""
    if _is_number(value):
        return str(value)
    if not isinstance(value, list):
        return None
    if all(isinstance(item, str) or _is_number(item) for item in value):
        return "\n".join(map(str, value))
    runs: list[Any] = [item.get("text") if isinstance(item, dict) and "type" in item else item for item in value]
    return "".join(runs) if all(isinstance(run, str) for run in runs) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


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
