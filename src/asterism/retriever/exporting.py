"""Writes the documents of an index to a file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..collection.catalog import Catalog
from ..collection.collection import Collection
from ..collection.filter_parsing import parse_filter
from ..collection.filters import Condition, is_fulfilled
from ..documents.document import Document
from ..documents.writing import choose_writer
from ..errors import InputError
from ..storage.folders import make_folder_beside
from .checks import check_outside


def export_documents(collection: Collection, target: Path, filter: Mapping[str, Any] | None = None) -> int:
    """Write the documents that match a filter, as of one moment, in the order in which they were added.

    They are read from a copy of the catalog beside the target, so that no writer waits longer than copying takes.
    """
    condition = None if filter is None else parse_filter(filter)
    write = choose_writer(target)
    check_outside(target, collection.path)
    if os.path.lexists(target):
        raise InputError(f"{target} exists already, expected a new file: choose another path, or remove it first")
    with make_folder_beside(target) as folder:
        with collection.reading() as reader:
            reader.copy_to(folder)
        return write(target, _read(folder, condition))


def _read(folder: Path, condition: Condition | None) -> Iterator[Document]:
    catalog = Catalog(folder)
    try:
        with catalog.reading() as reader:
            for _, document in reader.iterate_documents():
                if condition is None or is_fulfilled(condition, document.metadata):
                    yield document
    finally:
        catalog.close()
