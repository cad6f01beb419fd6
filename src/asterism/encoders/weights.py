"""Tensors of a checkpoint: where they lie in its files, so that they can be used in place."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import CheckpointError

BYTES = {
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "float64": 8,
    "int64": 8,
    "int32": 4,
    "int8": 1,
    "uint8": 1,
    "bool": 1,
}
FLOATS = ("float32", "float16", "bfloat16")
SAFETENSORS_TYPES = {
    "F32": "float32", "F16": "float16", "BF16": "bfloat16", "F64": "float64",
    "I64": "int64", "I32": "int32", "I8": "int8", "U8": "uint8", "BOOL": "bool",
}  # fmt: skip
LARGEST_HEADER = 100_000_000  # the format's own limit


@dataclass(frozen=True)
class StoredTensor:
    """A tensor in a file: `length` bytes from `offset`, little-endian, row by row."""

    file: Path
    name: str
    type: str
    shape: tuple[int, ...]
    offset: int
    length: int

    def read(self) -> npt.NDArray[np.float32]:
        """`shape` float32; a read-only view of the file where it is float32 already."""
        if self.type not in FLOATS:
            raise CheckpointError(f"{self.file}: tensor {self.name!r} is {self.type}, expected {', '.join(FLOATS)}")
        if self.length == 0:
            return np.zeros(self.shape, np.float32)
        if self.type == "bfloat16":  # the upper half of a float32
            halves = np.memmap(self.file, np.uint16, "r", self.offset, self.shape)
            return (halves.astype(np.uint32) << 16).view(np.float32)
        return np.asarray(np.memmap(self.file, self.type, "r", self.offset, self.shape)).astype(np.float32, copy=False)


class Weights(Mapping[str, StoredTensor]):
    """Tensors by name, with checks that name the file and the tensor."""

    def __init__(self, source: Path, tensors: Mapping[str, StoredTensor]) -> None:
        """`source` is the file, or for several the folder, that errors speak of."""
        self.source = source
        self._tensors = dict(tensors)

    def __getitem__(self, name: str) -> StoredTensor:
        """The tensor of that name, or an error that names the file."""
        try:
            return self._tensors[name]
        except KeyError:
            raise CheckpointError(f"{self.source}: tensor {name!r} is missing") from None

    def __contains__(self, name: object) -> bool:
        """Whether there is such a tensor."""
        return name in self._tensors

    def __iter__(self) -> Iterator[str]:
        """Names."""
        return iter(self._tensors)

    def __len__(self) -> int:
        """Tensors."""
        return len(self._tensors)

    def files(self) -> list[Path]:
        """The files that hold them."""
        return sorted({tensor.file for tensor in self._tensors.values()})

    def shaped(self, name: str, shape: tuple[int, ...]) -> StoredTensor:
        """The tensor of that name, which must be of `shape`, made of floats and without NaN or infinity."""
        tensor = self[name]
        if tensor.shape != shape:
            raise CheckpointError(f"{tensor.file}: tensor {tensor.name!r} has shape {tensor.shape}, expected {shape}")
        if not np.isfinite(tensor.read()).all():
            raise CheckpointError(f"{tensor.file}: tensor {tensor.name!r} has NaN or infinity: the file is damaged")
        return tensor

    def matrix(self, name: str, columns: int) -> npt.NDArray[np.float32]:
        """The values of a tensor (any number of rows, columns)."""
        return self.shaped(name, (*self[name].shape[:1], columns)).read()


def read_json(file: Path) -> dict[str, Any]:
    """A JSON object from a file of a checkpoint."""
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(f"{file} is missing") from None
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{file} cannot be read as JSON: {error}") from error
    if not isinstance(value, dict):
        raise CheckpointError(f"{file} holds a {type(value).__name__}, expected an object")
    return value


def open_weights(folder: Path) -> Weights:
    """model.safetensors (or its shards), else pytorch_model.bin."""
    single, sharded, torch_file = (
        folder / name for name in ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin")
    )
    if single.exists():
        return read_safetensors(single)
    if sharded.exists():
        return _read_shards(sharded)
    if torch_file.exists():
        from .torch_files import read_torch_file

        return read_torch_file(torch_file)
    raise CheckpointError(f"{folder} has neither model.safetensors nor pytorch_model.bin, expected the model's weights")


def read_safetensors(file: Path) -> Weights:
    """The header alone is read."""
    try:
        size = file.stat().st_size
        with file.open("rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            if length > min(LARGEST_HEADER, size - 8):
                raise ValueError(f"its header would have {length} bytes")
            header = json.loads(stream.read(length))
        tensors = {
            name: _stored(file, name, entry, 8 + length, size)
            for name, entry in header.items()
            if name != "__metadata__"
        }
    except OSError as error:
        raise CheckpointError(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise CheckpointError(f"{file} is no safetensors file, or is damaged: {error}") from error
    return Weights(file, tensors)


def _stored(file: Path, name: str, entry: Mapping[str, Any], base: int, size: int) -> StoredTensor:
    begin, end = entry["data_offsets"]
    shape = tuple(int(extent) for extent in entry["shape"])
    kind = SAFETENSORS_TYPES.get(entry["dtype"])
    if kind is None:
        raise ValueError(f"tensor {name!r} has type {entry['dtype']}")
    if (
        min(shape, default=0) < 0
        or not 0 <= begin <= end <= size - base
        or end - begin != math.prod(shape) * BYTES[kind]
    ):
        raise ValueError(f"tensor {name!r} does not fit into the file")
    return StoredTensor(file, name, kind, shape, base + begin, end - begin)


def _read_shards(index: Path) -> Weights:
    places = read_json(index).get("weight_map")
    if not isinstance(places, dict) or not all(isinstance(name, str) for name in places.values()):
        raise CheckpointError(f"{index} has no weight_map of names to files")
    files = sorted(set(places.values()))
    merged: dict[str, StoredTensor] = {}
    for name in files:
        file = index.parent / name
        if file.parent != index.parent:
            raise CheckpointError(f"{index} names {name!r}, expected a file beside it")
        merged.update(read_safetensors(file))
    return Weights(index.parent, merged)
