"""Pickles and archives that ask for more than tensors need: refused before they cost anything."""

from __future__ import annotations

import struct
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from asterism.encoders.checkpoints.weights.pickles import LARGEST_PICKLE, MOST_OPERATIONS
from asterism.encoders.checkpoints.weights.torch_files import read_torch_file
from asterism.errors import CheckpointError
from tests.faults.hostile_weights import ALMOST, PICKLES
from tests.layouts import numbers, save_torch

from .test_torch_files import archive


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


def test_members_that_overlap(tmp_path: Path) -> None:
    content = written(tmp_path / "x.pt")
    one, other = (directory_entry(content, b"archive/data/" + key) for key in (b"0", b"1"))
    content[other + 42 : other + 46] = content[one + 42 : one + 46]
    (tmp_path / "x.pt").write_bytes(content)
    with pytest.raises(CheckpointError, match="overlaps"):
        read_torch_file(tmp_path / "x.pt")


def test_a_member_that_reaches_beyond_the_file(tmp_path: Path) -> None:
    content = written(tmp_path / "x.pt")
    place = directory_entry(content, b"archive/version")
    content[place + 20 : place + 28] = struct.pack("<II", 10**6, 10**6)
    (tmp_path / "x.pt").write_bytes(content)
    with pytest.raises(CheckpointError, match="reaches beyond the end of the file"):
        read_torch_file(tmp_path / "x.pt")


def test_a_member_without_a_header(tmp_path: Path) -> None:
    content = written(tmp_path / "x.pt")
    place = directory_entry(content, b"archive/version")
    content[place + 42 : place + 46] = struct.pack("<I", content.index(b"PK\x01\x02") - 3)
    (tmp_path / "x.pt").write_bytes(content)
    with pytest.raises(CheckpointError, match="has no local header"):
        read_torch_file(tmp_path / "x.pt")


def test_a_directory_larger_than_any(tmp_path: Path) -> None:
    """Nine megabytes of entries, which zipfile would read at once."""
    with zipfile.ZipFile(tmp_path / "x.pt", "w") as out:
        for number in range(150):
            out.writestr(f"{number}{'x' * 60_000}", b"")
    with pytest.raises(CheckpointError, match="a directory of more than 8388608 bytes"):
        read_torch_file(tmp_path / "x.pt")
