"""Repairs an index: documents of damaged segments are encoded again by the index's own model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..collection.kept_views import Views
from ..collection.repair.repair import Repair, repair_collection
from ..documents.document import Document
from ..representations import Representations
from .model import load_same_model
from .represent import encode_views

if TYPE_CHECKING:  # onnxruntime is loaded when the first text is encoded
    from ..encoders.encoder import Encoder


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

    return repair_collection(path, represent)
