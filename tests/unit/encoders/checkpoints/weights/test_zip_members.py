"""Zip archives that torch.save does not write: compressed, forged, too large."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from asterism.encoders.checkpoints.weights.torch_files import read_torch_file
from asterism.errors import CheckpointError
from tests.faults.hostile_weights import ALMOST
from tests.layouts import numbers, save_torch


def test_a_compressed_pickle(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.pt", "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("archive/data.pkl", b"\x80\x02}.")
    with pytest.raises(CheckpointError, match=r"'archive/data\.pkl' is compressed"):
        read_torch_file(tmp_path / "x.pt")


def written(file: Path) -> bytearray:
    save_torch(file, {"weight": numbers("w", (3, 5)), "bias": numbers("b", (3,))})
    return bytearray(file.read_bytes())


def directory_entry(content: bytearray, name: bytes) -> int:
    """Where the central directory's entry of a member begins."""
    return content.index(name, content.index(b"PK\x01\x02")) - 46


def test_a_name_twice(tmp_path: Path) -> None:
    file = tmp_path / "x.pt"
    written(file)
    with zipfile.ZipFile(file, "a") as out:
        out.writestr(f"archive/{ALMOST.decode()}", b"\x80\x02}.")
    file.write_bytes(file.read_bytes().replace(ALMOST, b"data.pkl"))
    with pytest.raises(CheckpointError, match="occurs twice"):
        read_torch_file(file)


def overlap(content: bytearray) -> None:
    one, other = (directory_entry(content, b"archive/data/" + key) for key in (b"0", b"1"))
    content[other + 42 : other + 46] = content[one + 42 : one + 46]


def reach_beyond_the_file(content: bytearray) -> None:
    place = directory_entry(content, b"archive/version")
    content[place + 20 : place + 28] = struct.pack("<II", 10**6, 10**6)


def lose_a_header(content: bytearray) -> None:
    place = directory_entry(content, b"archive/version")
    content[place + 42 : place + 46] = struct.pack("<I", content.index(b"PK\x01\x02") - 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (overlap, "overlaps the member before"),
        (reach_beyond_the_file, "reaches beyond the end of the file"),
        (lose_a_header, "has no local header"),
    ],
)
def test_forged_directories(tmp_path: Path, change: Callable[[bytearray], None], message: str) -> None:
    content = written(tmp_path / "x.pt")
    change(content)
    (tmp_path / "x.pt").write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        read_torch_file(tmp_path / "x.pt")


def test_a_directory_larger_than_any(tmp_path: Path) -> None:
    """Nine megabytes of entries, which zipfile would read at once."""
    with zipfile.ZipFile(tmp_path / "x.pt", "w") as out:
        for number in range(150):
            out.writestr(f"{number}{'x' * 60_000}", b"")
    with pytest.raises(CheckpointError, match="a directory of more than 8388608 bytes"):
        read_torch_file(tmp_path / "x.pt")
