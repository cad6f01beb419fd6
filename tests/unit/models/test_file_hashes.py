"""Remembered hashes: only of files that cannot have changed since."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

import asterism
from asterism.models import file_hashes
from asterism.models.file_hashes import MEMORY, find_hashes
from asterism.models.registry import NamedModel, find_copy
from tests import layouts


@pytest.fixture
def all_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file counts as unchanged for long enough."""
    monkeypatch.setattr(file_hashes, "SETTLED", -(10**12))


def read_again(monkeypatch: pytest.MonkeyPatch, file: Path) -> bool:
    """Whether the file itself is read, not the memory."""
    read = []
    monkeypatch.setattr(file_hashes, "hash_file", lambda file: read.append(file) or "0" * 64)
    find_hashes([file])
    return bool(read)


def test_hashes_are_remembered_until_a_file_changes(tmp_path: Path, all_settled: None) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"one")
    assert find_hashes([file])[file] == hashlib.sha256(b"one").hexdigest()
    file.write_bytes(b"other")
    assert find_hashes([file])[file] == hashlib.sha256(b"other").hexdigest()


def test_a_known_file_is_not_read(tmp_path: Path, all_settled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").write_bytes(b"one")
    find_hashes([tmp_path / "x"])
    assert not read_again(monkeypatch, tmp_path / "x")


def test_a_file_that_has_just_changed_is_not_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It could change once more within the clock's tick."""
    (tmp_path / "x").write_bytes(b"one")
    find_hashes([tmp_path / "x"])
    assert read_again(monkeypatch, tmp_path / "x")


def test_zeros_under_the_old_time_are_noticed(tmp_path: Path, all_settled: None) -> None:
    """Size, time of modification and inode stay the same; the time of change cannot be set."""
    file = tmp_path / "x"
    file.write_bytes(b"weights" * 1000)
    find_hashes([file])
    before = file.stat()
    with file.open("r+b") as stream:
        stream.write(bytes(before.st_size))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = file.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)
    assert find_hashes([file])[file] == hashlib.sha256(bytes(before.st_size)).hexdigest()


def test_a_zeroed_model_is_not_here(tmp_path: Path, all_settled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "models" / "x" / "weights.bin"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"12345")
    monkeypatch.setenv("ASTERISM_MODELS", str(tmp_path / "models"))
    model = NamedModel("x", "", 1, {"weights.bin": hashlib.sha256(b"12345").hexdigest()}, ())
    assert find_copy(model) == file.parent
    before = file.stat()
    file.write_bytes(bytes(5))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert find_copy(model) is None


ODD: list[Any] = [[], {}, 3, None, [1], [1, 2, 3, 4, 5, "x"], [1, 2, 3, 4, 5, None], ["a"] * 6, [True] * 5 + ["0" * 64]]


@pytest.mark.parametrize("entry", ODD, ids=repr)
def test_odd_entries_are_passed_by(tmp_path: Path, cache: Path, all_settled: None, entry: Any) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"one")
    cache.mkdir()
    entries = {os.path.realpath(file): entry, "a\0b": [1, 2, 3, 4, 5, "0" * 64], "x" * 9000: [1, 2, 3, 4, 5, "0" * 64]}
    (cache / MEMORY).write_text(json.dumps(entries))
    assert find_hashes([file])[file] == hashlib.sha256(b"one").hexdigest()
    assert set(json.loads((cache / MEMORY).read_text())) == {os.path.realpath(file)}


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"[" * 10**5, b"\xff\xfe", b'{"x": NaN}', b"3"])
def test_a_damaged_memory_is_passed_by(tmp_path: Path, cache: Path, content: bytes) -> None:
    cache.mkdir()
    (cache / MEMORY).write_bytes(content)
    (tmp_path / "x").write_bytes(b"one")
    assert find_hashes([tmp_path / "x"])[tmp_path / "x"] == hashlib.sha256(b"one").hexdigest()


def test_a_changed_model_has_another_graph(tmp_path: Path, all_settled: None) -> None:
    """A model with zeroed weights must not be used with the old graph."""
    folder = layouts.colbert(tmp_path / "model")
    first = asterism.load_encoder(folder).describe()["files"]["model.safetensors"]
    file = folder / "model.safetensors"
    before = file.stat()
    with file.open("r+b") as stream:
        stream.seek(before.st_size - 4000)
        stream.write(bytes(4000))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert asterism.load_encoder(folder).describe()["files"]["model.safetensors"] != first
