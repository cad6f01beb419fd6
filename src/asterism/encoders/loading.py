"""Loading of text encoders and pair scorers, by folder or by name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UnknownModel
from ..models.registry import DEFAULT, HEADS, find_or_fetch_model
from ..settings import EncoderSettings

if TYPE_CHECKING:  # importing this module does not load onnx and onnxruntime
    from .encoder import Encoder
    from .pair_scorer import PairScorer


def load_encoder(model: str | os.PathLike[str] = DEFAULT, **settings: Any) -> Encoder:
    """A model from a folder in any published layout, or by name (`asterism models` lists the names).

    The settings are those of EncoderSettings, e.g. `precision="int8"`. A named model is downloaded at its first use.
    """
    chosen = EncoderSettings.from_json(settings)
    from .checkpoints.layouts import open_checkpoint
    from .encoder import Encoder

    return Encoder(open_checkpoint(find_model_folder(model)), chosen)


def load_pair_scorer(model: str | os.PathLike[str], **settings: Any) -> PairScorer:
    """A cross-encoder from a folder: a sequence classifier of transformers, or our own layout with a pair section."""
    chosen = EncoderSettings.from_json(settings)
    from .checkpoints.pair_models import open_pair_model
    from .pair_scorer import PairScorer

    return PairScorer(open_pair_model(find_model_folder(model)), chosen)


def find_model_folder(model: str | os.PathLike[str]) -> Path:
    """The folder of a model: an existing folder, else a model by name."""
    if not isinstance(model, str | os.PathLike):
        raise UnknownModel(f"{model!r} was given as a model, expected a folder or a name")
    if not str(model).strip():
        raise UnknownModel("the model's name is empty, expected a folder or a name")
    folder = Path(model).expanduser()
    if os.path.isdir(folder):  # unlike Path.is_dir, it does not raise for impossible names
        return folder
    if os.path.exists(folder):
        raise UnknownModel(f"{folder} is a file, expected the folder of a model")
    name = str(model)
    if name.startswith((".", "/", "~")):
        raise UnknownModel(f"there is no folder {folder}")
    own = HEADS / name
    return own if os.path.exists(own / "asterism.json") else find_or_fetch_model(name)
