"""Changes of metadata: what a document has afterwards, and the rows of the catalog that say so.

A change is a JSON merge patch (RFC 7396): its keys are set, those with null are removed, objects are merged key by key,
and all other keys stay. Or it replaces all metadata, in which a null is a value. Neither changes where a passage of a
file comes from: a sync, and whoever reads a ranking, must find the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..documents.document import Document
from ..documents.files.documents import RESERVED
from ..documents.folders.names import is_passage_of
from ..errors import DocumentError, IndexFolderError
from .catalog import CatalogEdit
from .catalog_reader import AT_ONCE, CatalogReader
from .state import Numbers


@dataclass(frozen=True)
class MetadataChange:
    """What to do with a document's metadata: merge `values` into them, or replace them by these."""

    values: Mapping[str, Any]
    replace: bool = False

    def __post_init__(self) -> None:
        """Check the values like those of a document."""
        object.__setattr__(self, "values", Document("the change", "", metadata=self.values).metadata)

    def apply(self, document: Document) -> Document:
        """The document with its new metadata; DocumentError if it cannot have these."""
        merged = self.values if self.replace else merge_patch(document.metadata, self.values)
        origin = find_origin(document)
        for key in RESERVED if origin else ():
            if key in self.values and merged.get(key) != origin.get(key):
                raise DocumentError(
                    f"{key!r} of {document.id!r} was to be changed, but says where in a file it comes from, and stays: "
                    "expected other keys; nothing was changed"
                )
        return replace(document, metadata={**merged, **origin})


def find_origin(document: Document) -> dict[str, Any]:
    """The metadata that say where in a file a passage comes from; {} for a document that is no passage of a file."""
    found = document.metadata
    if not is_passage_of(found.get("file"), found.get("place"), document.id):
        return {}
    return {key: found[key] for key in RESERVED if key in found}


@dataclass(frozen=True)
class Moved:
    """Documents that have another number: old (n,) and new (n,), both ascending."""

    old: Numbers
    new: Numbers

    def __len__(self) -> int:
        """How many."""
        return len(self.old)


def merge_patch(stored: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON merge patch, as RFC 7396 defines it for objects."""
    merged = dict(stored)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            below = merged.get(key)
            merged[key] = merge_patch(below if isinstance(below, Mapping) else {}, value)
        else:
            merged[key] = value
    return merged


def find_changed(reader: CatalogReader, numbers: Numbers, change: MetadataChange) -> Numbers:
    """Those of the documents (n,) that the change makes others; an impossible change is found before any is made."""
    changed = []
    for part in split(numbers):
        for number, document in reader.documents(part).items():
            if to_text(change.apply(document)) != to_text(document):
                changed.append(number)
    return np.sort(np.array(changed, np.int64))


def write_changed(edit: CatalogEdit, moved: Moved, change: MetadataChange) -> None:
    """Bury the rows of the old numbers and insert changed ones of the new, a few at a time."""
    for old, new in zip(split(moved.old), split(moved.new), strict=True):
        documents = edit.documents(old)
        if len(documents) < len(old):
            raise IndexFolderError(f"{edit.path}: documents to be changed are gone already: begin this write again")
        edit.bury(old)
        edit.insert_numbered((number, change.apply(documents[before])) for before, number in zip(old, new, strict=True))


def split(numbers: Numbers) -> Iterator[list[int]]:
    """The numbers in parts that one statement can name."""
    for start in range(0, len(numbers), AT_ONCE):
        yield numbers[start : start + AT_ONCE].tolist()


def to_text(document: Document) -> str:
    """The same for equal metadata: 1, 1.0 and true are different values."""
    return json.dumps(document.metadata, sort_keys=True)
