"""The folders that sentence-transformers writes: modules.json, and a subfolder for each module."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import CheckpointError
from ..heads import Activation, Linear
from ..weights import open_weights, read_json

ACTIVATIONS: dict[str, Activation] = {"Identity": "identity", "Tanh": "tanh", "ReLU": "relu", "GELU": "gelu"}


@dataclass(frozen=True)
class Module:
    """One step: the last part of its type's name, its folder, its settings."""

    kind: str
    folder: Path
    settings: dict[str, Any]


def modules(folder: Path) -> list[Module]:
    """In the order of modules.json."""
    file = folder / "modules.json"
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))
        found = [(str(entry["type"]).rsplit(".", 1)[-1], folder / str(entry["path"])) for entry in entries]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{file} cannot be read as a list of modules: {error}") from error
    listed = []
    for kind, place in found:
        if folder.resolve() not in (place.resolve(), *place.resolve().parents):
            raise CheckpointError(f"{file} names {place}, expected a folder below {folder}")
        config = place / "config.json"
        listed.append(Module(kind, place, read_json(config) if kind != "Transformer" and config.exists() else {}))
    if not listed or listed[0].kind != "Transformer":
        raise CheckpointError(f"{file} does not begin with a Transformer module")
    return listed


def dense_layer(module: Module, inputs: int) -> Linear:
    """A Dense module: activation(W·x + b), with a residual in newer ones."""
    tensors = open_weights(module.folder)
    name = str(module.settings.get("activation_function", "torch.nn.modules.activation.Tanh")).rsplit(".", 1)[-1]
    if name not in ACTIVATIONS:
        raise CheckpointError(
            f"{module.folder / 'config.json'} asks for the activation {name}, expected one of {', '.join(ACTIVATIONS)}"
        )
    weight = tensors.matrix("linear.weight", inputs)
    outputs = len(weight)
    residual: Any = None
    if module.settings.get("use_residual"):
        residual = "same" if outputs == inputs else tensors.shaped("residual.weight", (outputs, inputs)).read()
    for tensor in tensors:
        if tensor not in ("linear.weight", "linear.bias", "residual.weight"):
            raise CheckpointError(f"{tensors.source}: tensor {tensor!r} is not part of a Dense module")
    return Linear(
        weight,
        tensors.shaped("linear.bias", (outputs,)).read() if module.settings.get("bias", True) else None,
        ACTIVATIONS[name],
        residual,
    )


def module_files(folder: Path, listed: list[Module]) -> list[Path]:
    """modules.json, and settings and weights of all modules but the transformer."""
    files = [folder / "modules.json", *(module.folder / "config.json" for module in listed if module.settings)]
    return files + [file for module in listed if module.kind == "Dense" for file in open_weights(module.folder).files()]


def optional_json(file: Path) -> dict[str, Any]:
    """Its content, or nothing where there is no such file."""
    return read_json(file) if file.exists() else {}
