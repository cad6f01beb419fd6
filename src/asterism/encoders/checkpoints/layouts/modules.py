"""Folders that sentence-transformers writes: modules.json, and a subfolder for each module."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ....errors import CheckpointError
from ...graph.heads import Activation, Linear
from ..settings import read_optional_json, read_settings, shorten
from ..weights.files import open_weights

MOST_MODULES = 32
ACTIVATIONS: dict[str, Activation] = {
    "Identity": "identity",
    "Tanh": "tanh",
    "ReLU": "relu",
    "GELU": "gelu",
    "SiLU": "silu",
}


@dataclass(frozen=True)
class Module:
    """One module: the last part of its type's name, its folder, its settings."""

    kind: str
    folder: Path
    settings: dict[str, Any]


def read_modules(folder: Path) -> list[Module]:
    """All modules, in the order of modules.json."""
    file = folder / "modules.json"
    entries = read_settings(file)
    if not isinstance(entries, list) or len(entries) > MOST_MODULES:
        raise CheckpointError(f"{file} is not a list of at most {MOST_MODULES} modules")
    listed, real = [], os.path.realpath(folder)
    for entry in entries:
        if not isinstance(entry, dict) or not all(isinstance(entry.get(name), str) for name in ("type", "path")):
            raise CheckpointError(f"{file} cannot be read as a list of modules: one is {shorten(entry)}")
        kind, place = entry["type"].rsplit(".", 1)[-1], folder / entry["path"]
        if os.path.commonpath([real, os.path.realpath(place)]) != real:
            raise CheckpointError(f"{file} names {str(place)!r}, expected a folder below {folder}")
        listed.append(Module(kind, place, {} if kind == "Transformer" else read_optional_json(place / "config.json")))
    if not listed or listed[0].kind != "Transformer":
        raise CheckpointError(f"{file} does not begin with a Transformer module")
    return listed


def read_dense_layer(module: Module, inputs: int) -> Linear:
    """A Dense module: activation(W·x + b), with a residual in newer ones."""
    tensors = open_weights(module.folder)
    name = str(module.settings.get("activation_function", "torch.nn.modules.activation.Tanh")).rsplit(".", 1)[-1]
    if name not in ACTIVATIONS:
        file, known = module.folder / "config.json", ", ".join(ACTIVATIONS)
        raise CheckpointError(f"{file} has the activation {name!r}, expected one of {known}")
    weight = tensors.read_matrix("linear.weight", inputs)
    outputs = len(weight)
    residual: Any = None
    if module.settings.get("use_residual"):
        residual = "same" if outputs == inputs else tensors.find_shaped("residual.weight", (outputs, inputs)).read()
    for tensor in tensors:
        if tensor not in ("linear.weight", "linear.bias", "residual.weight"):
            raise CheckpointError(f"{tensors.source}: tensor {tensor!r} is not part of a Dense module")
    return Linear(
        weight,
        tensors.find_shaped("linear.bias", (outputs,)).read() if module.settings.get("bias", True) else None,
        ACTIVATIONS[name],
        residual,
    )


def list_module_files(folder: Path, listed: list[Module]) -> list[Path]:
    """modules.json, and the settings and weights of all given modules."""
    files = [folder / "modules.json", *(module.folder / "config.json" for module in listed if module.settings)]
    return files + [
        file for module in listed if module.kind == "Dense" for file in open_weights(module.folder).list_files()
    ]
