"""Finds the rows of a catalog that SQLite can no longer read, page by page.

A page with rows (a leaf of a table) lists where each of its cells begins. A row that an intact page lists is in its
table: deleted rows are not listed. In an inconsistent page, rows are searched by their structure; they are used only
for documents that are missing, because the page may also contain deleted rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

PAGE = 4096
FILE_HEADER = 100  # bytes at the beginning of the first page
LEAF, LEAF_HEADER = 0x0D, 8
MOST_IN_PAGE = PAGE - 35  # bytes of the largest row that fits in one page
LEAST_IN_PAGE = (PAGE - 12) * 32 // 255 - 23
MOST_TYPES = 48  # bytes of a record's header
BRANCHES_AND_INDEXES = (0x02, 0x05, 0x0A)  # pages of other kinds

DOCUMENT, FACT, TOMBSTONE = 6, 3, 1  # columns


@dataclass(frozen=True)
class Row:
    """A row: its number, and the types and bytes of its columns; `listed`: an intact page lists it."""

    number: int
    types: tuple[int, ...]
    columns: tuple[bytes, ...]
    listed: bool

    def integer(self, column: int) -> int | None:
        """The value of an integer column; None for other types."""
        kind = self.types[column]
        if kind in (8, 9):
            return kind - 8
        return int.from_bytes(self.columns[column], "big", signed=True) if 1 <= kind <= 6 else None

    def are_texts(self, columns: slice) -> bool:
        """Whether these columns are texts."""
        return all(kind >= 13 and kind % 2 == 1 for kind in self.types[columns])


class CatalogPages:
    """The pages of a catalog file."""

    def __init__(self, content: npt.NDArray[np.uint8]) -> None:
        """content (n,): the whole file."""
        self._bytes = content.tobytes()
        self._free = self._find_free_pages()

    def rows(self) -> Iterator[Row]:
        """Rows that intact pages list, then possible rows of inconsistent pages."""
        broken = []
        for page in range(len(self._bytes) // PAGE):
            if page in self._free:
                continue
            listed = self._read_listed(page)
            if listed is None:
                broken.append(page)
            else:
                yield from listed
        for page in broken:
            yield from self._find_loose(page)

    def _read_listed(self, page: int) -> list[Row] | None:
        """The rows of a leaf of a table; [] for other kinds of pages, None for an inconsistent page."""
        start = page * PAGE + (FILE_HEADER if page == 0 else 0)
        kind = self._bytes[start]
        if kind == 0:  # an overflow page, which begins with the number of the next one, or an empty page
            return []
        rows = self._read_leaf(page * PAGE, start - page * PAGE)
        if rows is None and kind in BRANCHES_AND_INDEXES:
            return []
        return rows

    def _read_leaf(self, page: int, start: int) -> list[Row] | None:
        """The rows of a page if its bytes are consistent with a leaf, even if its kind is damaged; otherwise None."""
        free, count, content = (self._read_number(page + start + at) for at in (1, 3, 5))
        end = start + LEAF_HEADER + 2 * count
        if not end <= content <= PAGE:
            return None
        places = [self._read_number(page + at) for at in range(start + LEAF_HEADER, end, 2)]
        cells = [self._read_cell(page + place, True) for place in places if content <= place < PAGE]
        rows = [cell[0] for cell in cells if cell is not None]
        used = sum(cell[1] for cell in cells if cell is not None) + self._bytes[page + start + 7]
        while content <= free <= PAGE - 4:  # free blocks, in ascending order
            used += self._read_number(page + free + 2)
            following = self._read_number(page + free)
            free = following if following > free else 0
        known = all(len(row.types) in (DOCUMENT, FACT, TOMBSTONE) for row in rows)
        rising = all(a.number < b.number for a, b in itertools.pairwise(rows))
        return rows if len(rows) == count and used == PAGE - content and known and rising else None

    def _find_loose(self, page: int) -> Iterator[Row]:
        """Possible cells at any position of a page."""
        for place in range(page * PAGE, (page + 1) * PAGE - 4):
            cell = self._read_cell(place, False)
            if cell is not None and len(cell[0].types) in (DOCUMENT, FACT):
                yield cell[0]

    def _read_cell(self, place: int, listed: bool) -> tuple[Row, int] | None:
        """A row and its size in the page. A cell is the length of the record, the row's number, and the record."""
        length, at = self._read_varint(place)
        number, at = self._read_varint(at)
        local = _count_local_bytes(length)
        content = self._read_payload(at, length, local)
        if not content:
            return None
        header, first = _read_varint(content, 0)
        if not 1 <= header <= min(MOST_TYPES, length):
            return None
        types = []
        while first < header:
            kind, first = _read_varint(content, first)
            types.append(kind)
        ends = list(itertools.accumulate((_count_column_bytes(kind) for kind in types), initial=header))
        if first != header or ends[-1] != length:
            return None
        columns = tuple(content[a:b] for a, b in itertools.pairwise(ends))
        size = at - place + local + (4 if local < length else 0)
        return Row(number, tuple(types), columns, listed), max(4, size)

    def _read_payload(self, place: int, total: int, local: int) -> bytes | None:
        """The bytes of a record, joined from its page and overflow pages."""
        if not 0 < total <= len(self._bytes) or place % PAGE + local > PAGE:
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

    def _find_free_pages(self) -> set[int]:
        """Numbers, from 0, of pages that no table uses; earlier versions did not erase them."""
        free: set[int] = set()
        trunk = int.from_bytes(self._bytes[32:36], "big")
        while 1 < trunk <= len(self._bytes) // PAGE and trunk - 1 not in free:
            start = (trunk - 1) * PAGE
            free.add(trunk - 1)
            trunk, count = (int.from_bytes(self._bytes[start + at : start + at + 4], "big") for at in (0, 4))
            leaves = self._bytes[start + 8 : start + 8 + 4 * min(count, PAGE // 4 - 2)]
            free |= {int.from_bytes(leaves[at : at + 4], "big") - 1 for at in range(0, len(leaves), 4)}
        return free

    def _read_number(self, at: int) -> int:
        return int.from_bytes(self._bytes[at : at + 2], "big")

    def _read_varint(self, at: int) -> tuple[int, int]:
        return _read_varint(self._bytes, at)


def _count_local_bytes(total: int) -> int:
    """Bytes of a record that are stored in its own page."""
    if total <= MOST_IN_PAGE:
        return total
    local = LEAST_IN_PAGE + (total - LEAST_IN_PAGE) % (PAGE - 4)
    return local if local <= MOST_IN_PAGE else LEAST_IN_PAGE


def _read_varint(content: bytes, at: int) -> tuple[int, int]:
    """A variable-length integer, and where it ends."""
    value = 0
    for i, byte in enumerate(content[at : at + 9]):
        if i == 8:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + i + 1
    return 0, at + 9


def _count_column_bytes(kind: int) -> int:
    """Bytes of a column."""
    if kind < 12:
        return (0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0)[kind]
    return (kind - 12) // 2
