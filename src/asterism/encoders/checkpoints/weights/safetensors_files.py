""".safetensors files: a length, a JSON header, and the bytes of the tensors one after the other."""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ....errors import CheckpointError
from ....files.checkpoint_files import open_checkpoint_file, parse_bounded_json
from ....files.regular_files import create_file
from ..settings import read_json, shorten
from .tensors import BYTES, StoredTensor, Weights, is_shape

TYPES = {
    "F32": "float32", "F16": "float16", "BF16": "bfloat16", "F64": "float64",
    "I64": "int64", "I32": "int32", "I8": "int8", "U8": "uint8", "BOOL": "bool",
}  # fmt: skip
ALIGNMENT = 8  # of the tensors, by spaces after the header
LARGEST_HEADER = 16 << 20  # bytes; about 100 per tensor, one or two million in the largest published files


def read_safetensors(file: Path) -> Weights:
    """The tensors of a file; only the header is read."""
    with open_checkpoint_file(file) as stream:
        size = os.fstat(stream.fileno()).st_size
        length = struct.unpack("<Q", stream.read(8))[0] if size >= 8 else 0
        if not 2 <= length <= min(LARGEST_HEADER, size - 8):
            raise _make_error(file, f"a header of {length} bytes in a file of {size}")
        content = stream.read(length)
    header = parse_bounded_json(file, content)
    if not isinstance(header, dict):
        raise _make_error(file, f"a header that is a {type(header).__name__}, expected an object")
    base = 8 + length
    tensors = {name: _read_entry(file, name, entry, base) for name, entry in header.items() if name != "__metadata__"}
    _refuse_gaps(file, list(tensors.values()), base, size)
    return Weights(file, tensors)


def read_shards(index: Path) -> Weights:
    """The tensors of all files that model.safetensors.index.json names, which must be in the same folder."""
    places = read_json(index).get("weight_map")
    if not isinstance(places, dict) or not all(isinstance(name, str) for name in places.values()):
        raise CheckpointError(f"{index} has no weight_map of names to files")
    merged: dict[str, StoredTensor] = {}
    for name in sorted(set(places.values())):
        if os.path.basename(name) != name or name in ("", ".", ".."):
            raise CheckpointError(f"{index} names {shorten(name)}, expected a file in the same folder")
        for key, tensor in read_safetensors(index.parent / name).items():
            if key in merged:
                raise CheckpointError(f"{tensor.file}: tensor {key!r} is in {merged[key].file.name} too")
            merged[key] = tensor
    return Weights(index.parent, merged)


def write_safetensors(file: Path, tensors: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write tensors as float32, in the order of their names, one at a time; raises OSError."""
    arrays = dict(sorted(tensors.items()))
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}  # transformers refuses a file without it
    end = 0
    for name, array in arrays.items():
        begin, end = end, end + array.size * BYTES["float32"]
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    with create_file(file) as stream:
        stream.write(struct.pack("<Q", len(text)) + text)
        for array in arrays.values():
            stream.write(np.ascontiguousarray(array, "<f4").data)


def _read_entry(file: Path, name: str, entry: Any, base: int) -> StoredTensor:
    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= set(entry):
        raise _make_error(file, f"tensor {name!r} without dtype, shape and data_offsets")
    kind = TYPES.get(entry["dtype"]) if isinstance(entry["dtype"], str) else None
    if kind is None:
        raise _make_error(
            file, f"tensor {name!r} of type {shorten(entry['dtype'])}, expected one of {', '.join(TYPES)}"
        )
    shape, offsets = entry["shape"], entry["data_offsets"]
    if not is_shape(shape):
        raise _make_error(file, f"tensor {name!r} of shape {shorten(shape)}")
    if not (isinstance(offsets, list) and len(offsets) == 2 and all(type(offset) is int for offset in offsets)):
        raise _make_error(file, f"tensor {name!r} at {shorten(offsets)}")
    begin, end = offsets
    if begin < 0 or end - begin != math.prod(shape) * BYTES[kind]:
        raise _make_error(file, f"tensor {name!r} of shape {shape} from byte {shorten(begin)} to {shorten(end)}")
    return StoredTensor(file, name, kind, tuple(shape), base + begin, end - begin)


def _refuse_gaps(file: Path, tensors: list[StoredTensor], base: int, size: int) -> None:
    """Each tensor must begin where the one before ends, as the format says: none overlap, none exceed the file."""
    end = base
    for tensor in sorted(tensors, key=lambda tensor: (tensor.offset, tensor.length)):
        if tensor.offset != end:
            raise _make_error(file, f"tensor {tensor.name!r} at byte {tensor.offset - base}, expected {end - base}")
        end += tensor.length
    if end != size:
        raise _make_error(file, f"{size} bytes, expected {end} by its header")


def _make_error(file: Path, found: str) -> CheckpointError:
    return CheckpointError(f"{file} is not a safetensors file, or is damaged: it has {found}")
