"""Rows of the catalog's tables: what they hold, and the checksum that covers it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..documents.document import Document
from ..errors import DamagedIndex, DocumentError
from ..files.json_text import parse_json
from ..storage.byte_correction import is_row_checksum
from ..storage.facts import Facts
from ..storage.faults import damaged


def join_columns(number: int, id: str, title: str, text: str, metadata: str) -> bytes:
    """The bytes that a row's checksum covers."""
    return "\0".join((str(number), id, title, text, metadata)).encode("utf-8", "surrogatepass")


def read_fact(row: Sequence[Any], path: Path) -> dict[str, Any]:
    """A row of `facts` -> its object; raises DamagedIndex if the checksum does not match."""
    name, value, checksum = row
    if not isinstance(value, str) or not is_row_checksum(f"{name}\0{value}".encode(), checksum):
        raise describe_change(path, f"its {str(name)[:60]}")
    try:
        return Facts(parse_json(value), f"{path}: its {name}").content
    except DamagedIndex:
        raise
    except ValueError as error:
        raise damaged(path, f"has facts that are not JSON ({error})") from error


def read_document(row: Sequence[Any], path: Path) -> Document:
    """A row of `documents` -> the document; raises DamagedIndex if the checksum does not match."""
    number, id, title, text, metadata, checksum = row
    texts = (id, title, text, metadata)
    if not all(isinstance(value, str) for value in texts) or not is_row_checksum(
        join_columns(number, *texts), checksum
    ):
        raise describe_change(path, f"document {str(id)[:60]!r}")
    try:
        return Document(id=id, text=text, title=title, metadata=parse_json(metadata))
    except (ValueError, DocumentError) as error:
        raise damaged(path, f"has a document that asterism cannot have stored ({error})") from error


def describe_change(path: Path, what: str) -> DamagedIndex:
    """The error for a row that does not have its checksum."""
    return damaged(f"{path}: {what}", "was changed since it was written")
