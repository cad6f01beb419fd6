"""Tensors of a checkpoint: where they are in its files, so that they can be used in place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ....errors import CheckpointError
from ....files.checkpoint_files import open_checkpoint_file

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
LARGEST_EXTENT = 2**31 - 1
MOST_EXTENTS = 8
CHECKED_VALUES = 1 << 22  # values of a tensor that are checked at a time


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
        """The values in `shape` as float32; a read-only view of the file if it has float32."""
        return self._read_floats(0, self.length // BYTES[self.type]).reshape(self.shape)

    def is_finite(self) -> bool:
        """Whether it has neither NaN nor infinity; checked in parts, to save memory."""
        values = self.length // BYTES[self.type]
        parts = ((first, min(CHECKED_VALUES, values - first)) for first in range(0, values, CHECKED_VALUES))
        return all(bool(np.isfinite(self._read_floats(*part)).all()) for part in parts)

    def _read_floats(self, first: int, count: int) -> npt.NDArray[np.float32]:
        """(count,) values, starting with number `first`."""
        if self.type not in FLOATS:
            raise CheckpointError(f"{self.file}: tensor {self.name!r} is {self.type}, expected {', '.join(FLOATS)}")
        if count == 0:
            return np.zeros(0, np.float32)
        stored = np.uint16 if self.type == "bfloat16" else np.dtype(self.type)
        with open_checkpoint_file(self.file) as stream:  # a file that was truncated meanwhile is an error, not a signal
            place = self.offset + first * BYTES[self.type]
            values = np.asarray(np.memmap(stream, stored, "r", place, (count,)))
        if self.type == "bfloat16":  # the upper half of a float32
            return (values.astype(np.uint32) << 16).view(np.float32)
        return values.astype(np.float32, copy=False)


class Weights(Mapping[str, StoredTensor]):
    """Tensors by name, with checks that name the file and the tensor."""

    def __init__(self, source: Path, tensors: Mapping[str, StoredTensor]) -> None:
        """`source` is the file, or the folder of several files, that errors name."""
        self.source = source
        self._tensors = dict(tensors)

    def __getitem__(self, name: str) -> StoredTensor:
        """The tensor of that name, or an error that names the file."""
        try:
            return self._tensors[name]
        except KeyError:
            raise CheckpointError(f"{self.source}: tensor {name!r} is missing") from None

    def __contains__(self, name: object) -> bool:
        """Whether a tensor has that name."""
        return name in self._tensors

    def __iter__(self) -> Iterator[str]:
        """The names of the tensors."""
        return iter(self._tensors)

    def __len__(self) -> int:
        """The number of tensors."""
        return len(self._tensors)

    def list_files(self) -> list[Path]:
        """The files that hold the tensors."""
        return sorted({tensor.file for tensor in self._tensors.values()})

    def find_shaped(self, name: str, shape: tuple[int, ...]) -> StoredTensor:
        """The tensor of that name, which must have `shape`, floats, and neither NaN nor infinity."""
        tensor = self[name]
        if tensor.shape != shape:
            raise CheckpointError(f"{tensor.file}: tensor {tensor.name!r} has shape {tensor.shape}, expected {shape}")
        if not tensor.length:
            raise CheckpointError(f"{tensor.file}: tensor {tensor.name!r} is empty, expected at least one number")
        if not tensor.is_finite():
            raise CheckpointError(f"{tensor.file}: tensor {tensor.name!r} has NaN or infinity: the file is damaged")
        return tensor

    def read_matrix(self, name: str, columns: int) -> npt.NDArray[np.float32]:
        """The values (rows, columns) of a tensor with any number of rows."""
        return self.find_shaped(name, (*self[name].shape[:1], columns)).read()


def is_shape(extents: object) -> bool:
    """Whether these can be the dimensions of a tensor in a file."""
    return (
        isinstance(extents, list | tuple)
        and len(extents) <= MOST_EXTENTS
        and all(type(extent) is int and 0 <= extent <= LARGEST_EXTENT for extent in extents)
    )
