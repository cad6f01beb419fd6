"""What every part of a collection agrees on: its kind, its version, and what its catalog says of its views."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..storage.facts import Facts
from ..storage.manifest import write_manifest
from .catalog import CatalogReader
from .kept_views import Views

KIND = "asterism index"
VERSION = 3
PATIENCE = 1.0  # seconds that a writer waits for another
REPAIR = "repair"  # the fact that is there while a repair goes on


def read_views(reader: CatalogReader) -> Views:
    """As given to `create`; the first format had token vectors alone."""
    stored = reader.fact("views")
    kept = {"views": stored} if stored else {"views": {"multi": reader.fact("settings")}}
    return Facts(kept, f"{reader.path}: its facts").read("views", Views.from_json)


def write_collection_manifest(folder: Path, views: dict[str, Any], model: dict[str, Any]) -> None:
    """Kind and version; views and model a second time, for a repair of the catalog."""
    write_manifest(folder, {"kind": KIND, "version": VERSION, "views": views, "model": model})
