"""Tensors in a .pt or .bin file, without torch and without running anything that the file brings along.

Such a file is a zip archive: `data.pkl` describes the tensors, `data/<key>` holds their bytes, uncompressed, so that
they can be used in place. Of what a pickle may ask for, only what describes tensors is granted (the rule of
`torch.load(weights_only=True)`).
"""

from __future__ import annotations

import collections
import math
import pickle
import struct
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import CheckpointError
from .weights import BYTES, StoredTensor, Weights

STORAGES = {
    "FloatStorage": "float32", "HalfStorage": "float16", "BFloat16Storage": "bfloat16", "DoubleStorage": "float64",
    "LongStorage": "int64", "IntStorage": "int32", "CharStorage": "int8", "ByteStorage": "uint8", "BoolStorage": "bool",
}  # fmt: skip


class _Storage:
    """A storage class of torch, by the type of its elements."""

    def __init__(self, kind: str) -> None:
        self.kind = kind


class _Reader(pickle.Unpickler):
    """Makes StoredTensors of the tensors and refuses everything else."""

    def __init__(self, stream: Any, file: Path, place: Callable[[str], tuple[int, int]]) -> None:
        super().__init__(stream)
        self._file = file
        self._place = place

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return self._tensor
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return lambda tensor, *_: tensor
        if module == "torch" and name in STORAGES:
            return _Storage(STORAGES[name])
        raise CheckpointError(
            f"{self._file} wants to run {module}.{name}, which no weights need: refused. "
            "Save the tensors alone, best as safetensors"
        )

    def persistent_load(self, pid: Any) -> StoredTensor:
        label, storage, key, _, elements = pid
        if label != "storage" or not isinstance(storage, _Storage):
            raise CheckpointError(f"{self._file} refers to {label!r}, expected a tensor's storage")
        offset, length = self._place(str(key))
        if length != elements * BYTES[storage.kind]:
            raise CheckpointError(f"{self._file}: storage {key} has {length} bytes, expected {elements} elements")
        return StoredTensor(self._file, str(key), storage.kind, (int(elements),), offset, length)

    def _tensor(self, whole: StoredTensor, start: int, shape: Any, stride: Any, *_: object) -> StoredTensor:
        shape, size = tuple(shape), BYTES[whole.type]
        row_by_row = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        if any(
            step != expected for step, expected, extent in zip(stride, row_by_row, shape, strict=True) if extent > 1
        ):
            raise CheckpointError(f"{self._file} has a tensor that does not lie row by row: save it with .contiguous()")
        length = math.prod(shape) * size
        if start < 0 or start * size + length > whole.length:
            raise CheckpointError(f"{self._file} has a tensor that reaches beyond its storage")
        return replace(whole, shape=shape, offset=whole.offset + start * size, length=length)


def read_torch_file(file: Path) -> Weights:
    """The tensors of a state dict, or of a plain mapping of names to tensors."""
    try:
        with zipfile.ZipFile(file) as archive:
            pickles = [name for name in archive.namelist() if name.endswith("/data.pkl")]
            if len(pickles) != 1:
                raise CheckpointError(f"{file} has {len(pickles)} data.pkl, expected one as torch.save writes it")
            inside = pickles[0].removesuffix("data.pkl")

            def place(key: str) -> tuple[int, int]:
                return _place(archive, file, f"{inside}data/{key}")

            with archive.open(pickles[0]) as stream:
                value = _Reader(stream, file, place).load()
    except zipfile.BadZipFile:
        raise CheckpointError(
            f"{file} is no file of torch 1.6 or later, or is damaged: save it again, best as safetensors"
        ) from None
    except CheckpointError:
        raise
    except OSError as error:
        raise CheckpointError(f"{file} cannot be read: {error.strerror}") from error
    except Exception as error:  # a pickle can fail in any way
        raise CheckpointError(f"{file} is damaged: {type(error).__name__}: {error}") from error
    if not isinstance(value, dict) or not all(isinstance(tensor, StoredTensor) for tensor in value.values()):
        raise CheckpointError(f"{file} holds a {type(value).__name__}, expected names and tensors")
    return Weights(file, {str(name): replace(tensor, name=str(name)) for name, tensor in value.items()})


def _place(archive: zipfile.ZipFile, file: Path, name: str) -> tuple[int, int]:
    """Offset and length of a member's bytes; the local header has its own idea of the extra field."""
    try:
        member = archive.getinfo(name)
    except KeyError:
        raise CheckpointError(f"{file} has no {name}: it is damaged") from None
    if member.compress_type != zipfile.ZIP_STORED:
        raise CheckpointError(f"{file}: {name} is compressed, expected it as torch.save writes it")
    with file.open("rb") as stream:
        stream.seek(member.header_offset + 26)
        name_length, extra_length = struct.unpack("<HH", stream.read(4))
    offset = member.header_offset + 30 + name_length + extra_length
    if offset + member.file_size > file.stat().st_size:
        raise CheckpointError(f"{file}: {name} reaches beyond the file: it is damaged")
    return offset, member.file_size
