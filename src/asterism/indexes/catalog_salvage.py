"""Rows of a catalog that SQLite can no longer read: found by their shape, believed by their checksums.

A row is a record: the length of its header, a type for each column, then the columns, one after the other. The end of a
long one lies in a chain of overflow pages. Nothing else of the file is looked at, so that no damage hides a whole row.
Rows of documents that were deleted may be among those found: who asks knows which are alive.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

PAGE = 4096
MOST_IN_PAGE = PAGE - 35  # bytes of a row that lies in one page
LEAST_IN_PAGE = (PAGE - 12) * 32 // 255 - 23
LONGEST_HEADER = 48
FACTS = (b"state", b"views", b"settings", b"model", b"fusion", b"job")

FactRow = tuple[str, str, int]  # name, value, checksum


@dataclass(frozen=True)
class DocumentRow:
    """What may be a document's row: numbers that may stand before it; id, title, text and metadata; its checksum."""

    numbers: tuple[int, ...]
    columns: tuple[bytes, ...]
    checksum: int

    def message(self, number: int) -> bytes:
        """What the checksum is of."""
        return b"\0".join((str(number).encode(), *self.columns))


@dataclass(frozen=True)
class _Record:
    """Column types, and the bytes of the columns."""

    types: list[int]
    columns: list[bytes]


class CatalogBytes:
    """A catalog as bytes (n,)."""

    def __init__(self, content: npt.NDArray[np.uint8]) -> None:
        """The whole file."""
        self._array = content
        self._bytes = content.tobytes()

    def document_rows(self) -> Iterator[DocumentRow]:
        """Whatever may be a document's row."""
        lengths, first = self._array[:-1], self._array[1:]
        for place in np.flatnonzero((lengths >= 7) & (lengths <= LONGEST_HEADER) & (first == 0)).tolist():
            record = self._record(place)
            if record is None or len(record.types) != 6 or not all(_is_text(kind) for kind in record.types[1:5]):
                continue
            checksum = _integer(record.types[5], record.columns[5])
            if checksum is not None and record.columns[1]:
                yield DocumentRow(tuple(self._numbers_before(place)), tuple(record.columns[1:5]), checksum)

    def fact_rows(self) -> Iterator[FactRow]:
        """Whatever may be the row of a fact."""
        for name in FACTS:
            found = self._bytes.find(name)
            while found >= 0:
                for header in range(4, min(12, found) + 1):
                    record = self._record(found - header)
                    if record is None or len(record.types) != 3 or record.columns[0] != name:
                        continue
                    value, checksum = _text(record.columns[1]), _integer(record.types[2], record.columns[2])
                    if value is not None and checksum is not None:
                        yield name.decode(), value, checksum
                found = self._bytes.find(name, found + 1)

    def _record(self, place: int) -> _Record | None:
        """The record that begins at a place, if one can."""
        length, at = self._varint(place)
        if not 3 <= length <= LONGEST_HEADER or place + length > len(self._bytes):
            return None
        types = []
        while at < place + length:
            kind, at = self._varint(at)
            types.append(kind)
        sizes = [_size(kind) for kind in types]
        total = length + sum(sizes)
        if at != place + length or total > len(self._bytes):
            return None
        content = self._payload(place, total)
        if content is None:
            return None
        ends = np.cumsum([length, *sizes]).tolist()
        return _Record(types, [content[a:b] for a, b in itertools.pairwise(ends)])

    def _payload(self, place: int, total: int) -> bytes | None:
        """The bytes of a record, put together from its page and the overflow pages."""
        local = total
        if total > MOST_IN_PAGE:
            local = LEAST_IN_PAGE + (total - LEAST_IN_PAGE) % (PAGE - 4)
            local = local if local <= MOST_IN_PAGE else LEAST_IN_PAGE
        if place % PAGE + local > PAGE:
            return None
        parts, left = [self._bytes[place : place + local]], total - local
        pointer = place + local
        while left > 0:
            page = int.from_bytes(self._bytes[pointer : pointer + 4], "big")
            pointer = (page - 1) * PAGE
            if page < 2 or pointer + PAGE > len(self._bytes):
                return None
            parts.append(self._bytes[pointer + 4 : pointer + 4 + min(left, PAGE - 4)])
            left -= len(parts[-1])
        return b"".join(parts)

    def _numbers_before(self, place: int) -> Iterator[int]:
        """Numbers of 1 to 9 bytes that end just before a place."""
        for start in range(max(0, place - 9), place):
            number, end = self._varint(start)
            if end == place:
                yield number

    def _varint(self, at: int) -> tuple[int, int]:
        """A number of variable length, and where it ends."""
        value = 0
        for i, byte in enumerate(self._bytes[at : at + 9]):
            if i == 8:
                return value << 8 | byte, at + 9
            value = value << 7 | byte & 0x7F
            if byte < 0x80:
                return value, at + i + 1
        return 0, at


def _size(kind: int) -> int:
    """Bytes of a column."""
    if kind < 12:
        return (0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0)[kind]
    return (kind - 12) // 2


def _is_text(kind: int) -> bool:
    return kind >= 13 and kind % 2 == 1


def _text(column: bytes) -> str | None:
    try:
        return column.decode()
    except UnicodeDecodeError:
        return None


def _integer(kind: int, column: bytes) -> int | None:
    if kind in (8, 9):
        return kind - 8
    return int.from_bytes(column, "big", signed=True) if 1 <= kind <= 6 else None
