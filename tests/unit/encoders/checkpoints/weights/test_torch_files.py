"""Tensors out of torch's files, without torch, and nothing else out of them."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

import asterism
from asterism.encoders.checkpoints.weights.torch_files import read_torch_file
from asterism.errors import AsterismError, CheckpointError
from tests import layouts
from tests.layouts import numbers, save_torch

from .torch_archives import archive


def test_reads_what_torch_writes(tmp_path: Path) -> None:
    tensors = {"weight": numbers("w", (3, 5)), "bias": numbers("b", (3,))}
    save_torch(tmp_path / "x.pt", tensors)
    found = read_torch_file(tmp_path / "x.pt")
    assert list(found) == ["weight", "bias"]
    for name, values in tensors.items():
        np.testing.assert_array_equal(found[name].read(), values)


class Evil:
    def __reduce__(self) -> tuple[object, ...]:
        return os.system, ("touch /tmp/owned",)


def test_runs_nothing(tmp_path: Path) -> None:
    file = archive(tmp_path / "evil.pt", pickle.dumps({"weight": Evil()}))
    with pytest.raises(CheckpointError, match=r"evil\.pt wants to run \w+\.system"):
        read_torch_file(file)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no zip at all", "not a file of torch 1.6"),
        (b"", "not a file of torch 1.6"),
    ],
)
def test_other_files(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x.pt").write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        read_torch_file(tmp_path / "x.pt")


def test_other_values(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="has a list"):
        read_torch_file(archive(tmp_path / "x.pt", pickle.dumps([1, 2])))
    with pytest.raises(CheckpointError, match="names and tensors"):
        read_torch_file(archive(tmp_path / "x.pt", pickle.dumps({"a": 1})))
    with pytest.raises(CheckpointError, match="damaged"):
        read_torch_file(archive(tmp_path / "x.pt", b"\x80\x02garbage"))


def test_every_cut_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "x.pt"
    save_torch(file, {"weight": numbers("w", (3, 5))})
    whole = file.read_bytes()
    for size in range(0, len(whole), 7):
        file.write_bytes(whole[:size])
        with pytest.raises(CheckpointError):
            read_torch_file(file)


def test_a_pickle_that_wants_to_run_code(tmp_path: Path) -> None:
    folder = layouts.bge_m3(tmp_path / "model")
    archive(folder / "colbert_linear.pt", pickle.dumps({"weight": Evil()}))
    with pytest.raises(AsterismError, match=r"colbert_linear\.pt wants to run"):
        asterism.load_encoder(folder)
