"""Goes through documents in parts, each read in a transaction of its own, while others may write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from ..documents.document import Document
from .catalog_reader import CatalogReader
from .state import Numbers

AT_ONCE = 256  # documents


def read_in_parts(
    reading: Callable[[], AbstractContextManager[CatalogReader]], numbers: Numbers, hashes: Numbers, newest: int
) -> Iterator[tuple[int, Document]]:
    """The documents with these numbers (n,), each with its number.

    hashes: (n,) of their ids · newest: the largest number of all when they were read. A document that changes has a
    number above that from then on: it is found again by the hash of its id, and comes last.
    """
    while len(numbers):
        moved: set[int] = set()
        for start in range(0, len(numbers), AT_ONCE):
            part = numbers[start : start + AT_ONCE].tolist()
            with reading() as reader:  # closed before each yield: the caller may read and write
                found = reader.documents(part)
            moved.update(hashes[start + i] for i, number in enumerate(part) if number not in found)
            yield from ((number, found[number]) for number in part if number in found)
        with reading() as reader:
            numbers, hashes = reader.find_hashes(moved, newest)
            newest = reader.find_newest_number()
