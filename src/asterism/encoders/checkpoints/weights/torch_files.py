"""Tensors in a .pt or .bin file, read without torch and without running code of the file.

Such a file is a zip archive: `data.pkl` describes the tensors, `data/<key>` holds their bytes, uncompressed, so that
they can be used in place. A pickle may only call what describes tensors, as with `torch.load(weights_only=True)`.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from ....errors import CheckpointError
from ....files.checkpoint_files import open_checkpoint_file
from ..settings import shorten
from .pickles import LARGEST_PICKLE, Pickle, PickleRefused
from .tensors import BYTES, StoredTensor, Weights, is_shape
from .zip_members import Member, list_members

STORAGES = {
    "FloatStorage": "float32", "HalfStorage": "float16", "BFloat16Storage": "bfloat16", "DoubleStorage": "float64",
    "LongStorage": "int64", "IntStorage": "int32", "CharStorage": "int8", "ByteStorage": "uint8", "BoolStorage": "bool",
}  # fmt: skip


class _Storage:
    """A storage class of torch, by the type of its elements; it cannot be called."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __call__(self, *_: object) -> None:
        raise PickleRefused("it constructs a storage, expected one in the archive")


class _Tensors:
    """What a pickle may construct: StoredTensors and nothing else."""

    def __init__(self, file: Path, inside: str, members: Mapping[str, Member]) -> None:
        self._file, self._inside, self._members = file, inside, members

    def grant(self, module: str, name: str) -> Callable[..., Any]:
        if (module, name) == ("collections", "OrderedDict"):
            return lambda: {}
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return self._make_tensor
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return lambda tensor, *_: tensor
        if module == "torch" and name in STORAGES:
            return _Storage(STORAGES[name])
        raise CheckpointError(
            f"{self._file} wants to run {module}.{name}, which weights do not need: refused. "
            "Save only the tensors, best as safetensors"
        )

    def find_storage(self, entry: Any) -> StoredTensor:
        """The storage that a persistent id names: ("storage", class, key, device, elements)."""
        if not isinstance(entry, tuple) or len(entry) != 5:
            raise PickleRefused(f"it refers to {shorten(entry)}, expected a tensor's storage")
        label, storage, key, _, elements = entry
        if label != "storage" or not isinstance(storage, _Storage) or not _is_count(elements):
            raise PickleRefused(f"it refers to {shorten(entry)}, expected a tensor's storage")
        name = f"{self._inside}data/{key}"
        if name not in self._members:
            raise CheckpointError(f"{self._file} has no {name!r}: it is damaged")
        member = self._members[name]
        if member.length != elements * BYTES[storage.kind]:
            raise CheckpointError(
                f"{self._file}: {name!r} has {member.length} bytes, expected {elements} of {storage.kind}"
            )
        return StoredTensor(self._file, str(key), storage.kind, (elements,), member.offset, member.length)

    def _make_tensor(self, whole: Any, start: Any, shape: Any, stride: Any, *_: object) -> StoredTensor:
        if not isinstance(whole, StoredTensor) or not is_shape(shape) or not all(map(_is_count, (start, *stride))):
            raise PickleRefused(f"a tensor of shape {shorten(shape)}, which is not the shape of a tensor")
        size = BYTES[whole.type]
        row_by_row = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        if len(stride) != len(shape) or any(
            step != expected for step, expected, extent in zip(stride, row_by_row, shape, strict=True) if extent > 1
        ):
            raise CheckpointError(
                f"{self._file} has a tensor that is not stored row by row: save it with .contiguous()"
            )
        length = math.prod(shape) * size
        if start * size + length > whole.length:
            raise CheckpointError(f"{self._file} has a tensor that reaches beyond its storage")
        return replace(whole, shape=tuple(shape), offset=whole.offset + start * size, length=length)


def read_torch_file(file: Path) -> Weights:
    """The tensors of a state dict, or of a plain mapping of names to tensors."""
    with open_checkpoint_file(file) as stream:
        members = list_members(file, stream)
        pickles = [name for name in members if name.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise CheckpointError(f"{file} has {len(pickles)} data.pkl, expected one, as torch.save writes it")
        content = _read_content(file, stream, members[pickles[0]])
    tensors = _Tensors(file, pickles[0].removesuffix("data.pkl"), members)
    try:
        value = Pickle(content, tensors.grant, tensors.find_storage).load()
    except (PickleRefused, TypeError, UnicodeDecodeError) as error:  # TypeError: a call with wrong arguments
        raise CheckpointError(f"{file} is damaged, or holds more than tensors: {error}") from error
    if not isinstance(value, dict) or not all(isinstance(tensor, StoredTensor) for tensor in value.values()):
        raise CheckpointError(f"{file} has a {type(value).__name__}, expected names and tensors")
    return Weights(file, {name: replace(tensor, name=name) for name, tensor in value.items()})


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _read_content(file: Path, stream: BinaryIO, member: Member) -> bytes:
    if member.length > LARGEST_PICKLE:
        raise CheckpointError(f"{file}: data.pkl has {member.length} bytes, expected at most {LARGEST_PICKLE}")
    stream.seek(member.offset)
    content = stream.read(member.length)
    if zlib.crc32(content) != member.checksum:
        raise CheckpointError(f"{file}: data.pkl is damaged, its checksum is not the one in the archive")
    return content
