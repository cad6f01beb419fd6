"""Finding the files of a folder that hold the weights."""

from __future__ import annotations

from pathlib import Path

from ....errors import CheckpointError
from ....files.checkpoint_files import is_there
from .safetensors_files import read_safetensors, read_shards
from .tensors import Weights
from .torch_files import read_torch_file

READERS = {
    "model.safetensors": read_safetensors,
    "model.safetensors.index.json": read_shards,
    "pytorch_model.bin": read_torch_file,
}


def open_weights(folder: Path) -> Weights:
    """model.safetensors (or its shards), else pytorch_model.bin."""
    for name, read in READERS.items():
        if is_there(folder / name):
            return read(folder / name)
    raise CheckpointError(f"{folder} has neither model.safetensors nor pytorch_model.bin, expected the model's weights")
