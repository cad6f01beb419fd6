"""Repairs an index: documents of damaged segments are encoded again by the index's own model."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..collection.collection import Collection
from ..collection.kept_views import Views
from ..collection.repair.repair import Repair, repair_collection
from ..documents.document import Document
from ..errors import DamagedIndex
from ..representations import Representations
from .model import load_same_model
from .profiling import FACT as PROFILE
from .profiling import read_profile
from .represent import encode_views
from .search_runner import FUSION, read_fusion

if TYPE_CHECKING:  # onnxruntime is loaded when the first text is encoded
    from ..encoders.encoder import Encoder

SEARCH_FACTS: Mapping[str, Callable[[Collection], object]] = {PROFILE: read_profile, FUSION: read_fusion}


def repair_index(path: Path, model: str | os.PathLike[str] | None) -> Repair:
    """Repair the index at `path`; the model is loaded if a document must be encoded again."""
    encoders: list[Encoder] = []

    def represent(documents: list[Document], views: Views, facts: dict[str, Any]) -> Representations:
        def encoder() -> Encoder:
            if not encoders:
                encoders.append(load_same_model(model, facts, path))
            return encoders[0]

        texts = [document.full_text for document in documents]
        return encode_views(texts, "document", views, views.names, encoder)

    done = repair_collection(path, represent)
    return replace(done, forgotten=_forget_unreadable(path))


def check_search_facts(collection: Collection) -> None:
    """Raise DamagedIndex if what hybrid search needs to know cannot be read."""
    for read in SEARCH_FACTS.values():
        read(collection)


def _forget_unreadable(path: Path) -> tuple[str, ...]:
    """Forget what hybrid search cannot read; the defaults apply, and the next `add` or `tune` measures again."""
    forgotten = []
    collection = Collection.open(path)
    try:
        for name, read in SEARCH_FACTS.items():
            try:
                read(collection)
            except DamagedIndex:
                collection.put_fact(name, {})
                forgotten.append(name)
    finally:
        collection.close()
    return tuple(forgotten)
