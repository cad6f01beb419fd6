"""A copy of an index that others may be using: complete, verified, and in place at once or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..collection.backup import copy_collection
from ..collection.collection import Collection
from ..errors import DamagedIndex
from ..storage.folders import make_index_folder
from .checks import check_outside
from .cross_tables import CrossTables, copy_tables
from .repair import check_search_facts


@dataclass(frozen=True)
class Backup:
    """A finished copy: where it is, how many documents it has, and the size of its files."""

    path: Path
    documents: int
    bytes: int


def back_up(collection: Collection, target: Path) -> Backup:
    """Copy an index to a new folder. Everything in the copy is verified before it appears."""
    check_outside(target, collection.path)
    with make_index_folder(target) as inside:
        # The scores of a scorer come first: were they newer than the catalog, documents that the copy adds later would
        # get numbers that have scores already.
        copy_tables(collection, inside)
        copy_collection(collection, inside)
        with _name_original(inside, collection.path):
            documents, size = _check(inside)
    return Backup(target.absolute(), documents, size)


def _check(folder: Path) -> tuple[int, int]:
    """Read everything; returns the number of documents and the bytes."""
    copy = Collection.open(folder)
    try:
        check_whole_index(copy)
        return copy.snapshot().state.documents, copy.bytes()
    finally:
        copy.close()


def check_whole_index(collection: Collection) -> None:
    """Read every file of an index and compare its checksum; raises DamagedIndex for the first that is wrong."""
    collection.check()
    check_search_facts(collection)
    CrossTables.open(collection).verify()


@contextmanager
def _name_original(copy: Path, original: Path) -> Iterator[None]:
    """What is damaged in the copy is damaged in the original."""
    try:
        yield
    except DamagedIndex as error:
        raise DamagedIndex(f"nothing was copied: {str(error).replace(str(copy.absolute()), str(original))}") from error
