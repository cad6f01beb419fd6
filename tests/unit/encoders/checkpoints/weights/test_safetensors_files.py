""".safetensors files: written ones, truncated ones, and wrong headers and shards."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

import asterism
from asterism.encoders.checkpoints.weights.files import open_weights
from asterism.encoders.checkpoints.weights.safetensors_files import read_safetensors, write_safetensors
from asterism.errors import CheckpointError
from tests import layouts
from tests.faults.hostile_checkpoints import sharded


def test_truncated_weights(good: Path, tmp_path: Path) -> None:
    shutil.copytree(good, tmp_path / "model")
    file = tmp_path / "model" / "model.safetensors"
    whole = file.read_bytes()
    for size in (4, 8, 100, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        with pytest.raises(CheckpointError, match=r"model\.safetensors"):
            asterism.load_encoder(tmp_path / "model")


def rewritten(file: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    """A safetensors file of two tensors, its header changed."""
    layouts.save_weights(file, {"a": np.ones((2, 3), np.float32), "b": np.ones(4, np.float32)})
    content = file.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    made = change(header)
    made = made if isinstance(made, bytes) else json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(made)) + made + content[8 + length :])
    return file


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: header["a"].update(shape=[10**30, 10**30]), "of shape"),
        (lambda header: header["a"].update(shape=[-2, -3]), "of shape"),
        (lambda header: header["a"].update(shape=[1] * 1000), "of shape"),
        (lambda header: header["a"].update(shape=[2.0, 3]), "of shape"),
        (lambda header: header["a"].update(data_offsets=[0, 10**30]), "from byte 0 to"),
        (lambda header: header["b"].update(data_offsets=[0, 16]), "at byte 0, expected"),
        (lambda header: header["b"].update(data_offsets=[2**62, 2**62 + 16]), "at byte"),
        (lambda header: header.pop("b"), "bytes, expected .* by its header"),
        (lambda header: header.update(a=3), "'a' without dtype, shape and data_offsets"),
        (lambda header: header["a"].update(dtype=["F32"]), "of type"),
        (lambda header: b'{"a": {}, "a": {}}', "the key 'a' twice"),
        (lambda header: b"[" * 50_000, "nested too deeply"),
        (lambda header: b"[]", "a header that is a list"),
        (lambda header: b"[" + b"[]," * 2_000_000 + b"[]]", "JSON values, expected at most"),
    ],
)
def test_safetensors_headers(tmp_path: Path, change: Callable[[dict[str, Any]], Any], message: str) -> None:
    with pytest.raises(CheckpointError, match=rf"x\.safetensors .*{message}"):
        read_safetensors(rewritten(tmp_path / "x.safetensors", change))


@pytest.mark.parametrize("length", [0, 1, 17 << 20, 10**8, 2**63, 2**64 - 1])
def test_the_length_of_a_header(tmp_path: Path, length: int) -> None:
    (tmp_path / "x.safetensors").write_bytes(struct.pack("<Q", length) + b"{}" + bytes(100))
    with pytest.raises(CheckpointError, match=f"a header of {length} bytes"):
        read_safetensors(tmp_path / "x.safetensors")


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "sub/x", "..", ".", "", "a\0b"])
def test_shards_beside_their_index(tmp_path: Path, name: str) -> None:
    folder = sharded(tmp_path / "model")
    layouts.write_json(folder / "model.safetensors.index.json", {"weight_map": {"a": name}})
    with pytest.raises(CheckpointError, match=r"expected a file in the same folder|cannot be read"):
        open_weights(folder)


def test_a_tensor_in_two_shards(tmp_path: Path) -> None:
    folder = sharded(tmp_path / "model")
    shutil.copy(folder / "model-0.safetensors", folder / "model-1.safetensors")
    with pytest.raises(CheckpointError, match=r"is in model-0\.safetensors too"):
        open_weights(folder)


def test_written_files_are_safetensors(tmp_path: Path) -> None:
    """Read back by the library and by ourselves, as float32."""
    wide = np.arange(12, dtype=np.float64).reshape(3, 4)
    given = {"b": wide.T, "a": np.float16([1.5]), "é": np.zeros((0, 3), np.float32), "scalar": np.array(2.5)}
    write_safetensors(tmp_path / "file", given)
    for found in (load_file(tmp_path / "file"), {n: t.read() for n, t in read_safetensors(tmp_path / "file").items()}):
        assert found.keys() == given.keys()
        for name, values in given.items():
            np.testing.assert_array_equal(found[name], values)
            assert found[name].dtype == np.float32
    with pytest.raises(FileExistsError):
        write_safetensors(tmp_path / "file", given)
