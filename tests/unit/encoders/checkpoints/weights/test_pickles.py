"""Pickles and archives that ask for more than tensors need: refused before they cost anything."""

from __future__ import annotations

import struct
import tracemalloc
from pathlib import Path

import pytest

from asterism.encoders.checkpoints.weights.pickles import LARGEST_PICKLE, MOST_OPERATIONS
from asterism.encoders.checkpoints.weights.torch_files import read_torch_file
from asterism.errors import CheckpointError
from tests.faults.hostile_weights import PICKLES

from .torch_archives import archive


@pytest.mark.parametrize("kind", PICKLES)
def test_each_is_refused(tmp_path: Path, kind: str) -> None:
    with pytest.raises(CheckpointError, match=r"x\.pt"):
        read_torch_file(archive(tmp_path / "x.pt", PICKLES[kind], **{"0": bytes(4096)}))


def test_139_bytes_do_not_take_4_gigabytes(tmp_path: Path) -> None:
    file = archive(tmp_path / "x.pt", b"\x80\x04\x8e" + struct.pack("<Q", 1 << 32) + b"x")
    tracemalloc.start()
    try:
        with pytest.raises(CheckpointError, match=r"operation b'\\x8e' at byte 2"):
            read_torch_file(file)
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


def test_deep_tuples_are_no_signal(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="a tuple is nested"):
        read_torch_file(archive(tmp_path / "x.pt", PICKLES["deep tuples as a key"]))


def test_too_much_of_it(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=f"more than {MOST_OPERATIONS} operations"):
        read_torch_file(archive(tmp_path / "x.pt", b"\x80\x02" + b"N" * (MOST_OPERATIONS + 1) + b"."))
    with pytest.raises(CheckpointError, match=f"data.pkl has {LARGEST_PICKLE + 1} bytes"):
        read_torch_file(archive(tmp_path / "x.pt", bytes(LARGEST_PICKLE + 1)))
