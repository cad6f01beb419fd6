"""The format of a collection: its kind, its version, and how its views are read from the catalog."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..storage.facts import Facts
from ..storage.faults import damaged
from ..storage.manifest import write_manifest
from .catalog_reader import CatalogReader
from .kept_views import Views

KIND = "asterism index"
VERSION = 4
PATIENCE = 1.0  # seconds that a writer waits for another
REPAIR = "repair"  # the name of the fact that marks an unfinished repair


def read_views(reader: CatalogReader) -> Views:
    """The views given to `create`; the first format had only token vectors."""
    stored, first = reader.fact("views"), reader.fact("settings")
    if not stored and not first:
        raise damaged(reader.path, "has lost the row of its views")
    kept = {"views": stored or {"multi": first}}
    return Facts(kept, f"{reader.path}: its facts").read("views", Views.from_json)


def write_collection_manifest(folder: Path, views: dict[str, Any], model: dict[str, Any]) -> None:
    """Write kind and version, and a copy of views and model for repairs of the catalog."""
    write_manifest(folder, {"kind": KIND, "version": VERSION, "views": views, "model": model})
