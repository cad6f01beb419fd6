"""Documents from JSON lines in BEIR form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..errors import DocumentError
from ..files.json_text import parse_json
from .document import Document
from .lines import Located, PathLike, drop_places, make_located, read_lines


def read_jsonl(path: PathLike) -> Iterator[Document]:
    """One object per line: `_id` (or `id`), `text`, `title`, `metadata`; all other keys are metadata too."""
    return drop_places(read_located_jsonl(path))


def read_located_jsonl(path: PathLike, name: str = "") -> Iterator[Located]:
    """The same documents with their FILE:LINE; `name` replaces FILE."""
    for where, line in read_lines(path, name):
        record = parse_object(where, line)
        id_key = "_id" if "_id" in record else "id"
        missing = next((key for key in (id_key, "text") if key not in record), None)
        if missing:
            wanted = "'_id' or 'id'" if missing == "id" else "'text'"
            raise DocumentError(f"{where}: the object has no {wanted}, expected an object with '_id' and 'text'")
        id, text = record.pop(id_key), record.pop("text")
        title, metadata = record.pop("title", None), record.pop("metadata", None)
        if type(id) is int:
            id = str(id)
        if metadata is None:
            metadata = {}
        if not isinstance(metadata, dict):
            raise DocumentError(f"{where}: metadata is {name_json_type(metadata)}, expected an object")
        clash = next((key for key in record if key in metadata), None)
        if clash is not None:
            raise DocumentError(f"{where}: {clash!r} is both in the object and in its metadata, expected it once")
        yield make_located(where, id, text, "" if title is None else title, metadata | record)


def parse_object(where: str, line: str) -> dict[str, Any]:
    """The JSON object of a line; `where` begins messages."""
    try:
        record = parse_json(line)
    except json.JSONDecodeError as error:
        why = f"{error.msg} at column {error.colno}"
        raise DocumentError(f"{where}: not JSON ({why}), expected one JSON object per line") from error
    except ValueError as error:  # NaN, a number of 5,000 digits, a thousand nested brackets
        raise DocumentError(f"{where}: not usable JSON ({error}), expected one JSON object per line") from error
    if not isinstance(record, dict):
        raise DocumentError(f"{where}: {name_json_type(record)}, expected one JSON object per line")
    return record


def name_json_type(value: object) -> str:
    """What JSON calls a value, for messages."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return "a string"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return "a number"
