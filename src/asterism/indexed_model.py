"""The model of an index: loaded if it has token vectors, and known again by the hashes of its files."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .encoders.loading import load_encoder
from .errors import InputError
from .settings import EncoderSettings

if TYPE_CHECKING:  # onnxruntime is loaded when the first text is encoded
    from .encoders.encoder import Encoder


def loaded_model(model: str | os.PathLike[str], settings: EncoderSettings) -> Encoder:
    """A late-interaction model, by name or folder."""
    encoder = load_encoder(model, **asdict(settings))
    if "multi_vector" not in encoder.views:
        raise InputError(
            f"{model} has no token vectors (it has {', '.join(encoder.views)}): use a late-interaction model"
        )
    return encoder


def model_identity(model: str | os.PathLike[str], encoder: Encoder, settings: EncoderSettings) -> dict[str, Any]:
    """What an index keeps of its model: how to find it, how it runs, and the hashes of its files."""
    described = encoder.describe()
    folder = Path(model).expanduser()
    kept = {name: value for name, value in asdict(settings).items() if name not in ("threads", "batch_tokens")}
    return {
        "name": str(folder.resolve()) if folder.is_dir() else str(model),
        "settings": kept,
        "family": described["family"],
        "dimensions": described["views"]["multi_vector"],
        "vectors_per_document": described["vectors_per_document"],
        "files": sorted(described["files"].values()),
    }
