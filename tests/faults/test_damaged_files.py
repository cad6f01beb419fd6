"""Truncated, changed, newer, foreign and half-written files: each has its own error, none is a crash."""

from __future__ import annotations

import json
import shutil
import zlib
from pathlib import Path

import numpy as np
import pytest

from asterism import TokenIndex, TokenSearch
from asterism.errors import DamagedIndex, IndexFolderError, NewerFormat, NotAnIndex
from asterism.files.new_folders import LOCK, make_temporary_folder
from asterism.storage.manifest import MANIFEST
from tests.conftest import make_query, make_vectors

METHODS = ["exact", "colbert", "xtr"]


def files_of(index: TokenIndex) -> list[Path]:
    found = sorted(path for path in index.path.rglob("*") if path.is_file() and path.stat().st_size)
    assert {MANIFEST, "codes.npy", "centroids.npy"} < {path.name for path in found}
    return found


def test_check_passes(index: TokenIndex) -> None:
    index.check()
    index.add(make_vectors(9, 16)).check()


def test_truncated_files_do_not_open(index: TokenIndex, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for file in files_of(index):
        copy = tmp_path / "copy"
        shutil.copytree(index.path, copy)
        damaged = copy / file.relative_to(index.path)
        size = damaged.stat().st_size
        with open(damaged, "r+b") as handle:
            handle.truncate(int(rng.integers(size)))
        with pytest.raises(IndexFolderError):
            TokenIndex.open(copy)
        shutil.rmtree(copy)


def test_missing_files_do_not_open(index: TokenIndex, tmp_path: Path) -> None:
    for file in files_of(index):
        copy = tmp_path / "copy"
        shutil.copytree(index.path, copy)
        (copy / file.relative_to(index.path)).unlink()
        with pytest.raises((DamagedIndex, NotAnIndex)):
            TokenIndex.open(copy)
        shutil.rmtree(copy)


def test_flipped_bytes_are_reported_and_never_crash(index: TokenIndex) -> None:
    """400 flips over all files: open or check() reports each, and a search raises or returns documents."""
    rng = np.random.default_rng(1)
    files = files_of(index)
    query = make_query(16)
    reported = 0
    for _ in range(400):
        file = files[rng.integers(len(files))]
        content = bytearray(file.read_bytes())
        position = int(rng.integers(len(content)))
        original = content[position]
        content[position] ^= int(rng.integers(1, 256))
        file.write_bytes(content)
        try:
            opened = TokenIndex.open(index.path)
            for method in METHODS:
                try:
                    ids, _ = opened.search(query, 10, TokenSearch(method=method, candidates=20, refine=10))
                    assert ((ids >= 0) & (ids < len(index))).all()
                except DamagedIndex:
                    pass
            opened.check()
        except IndexFolderError:
            reported += 1
        content[position] = original
        file.write_bytes(content)
    assert reported == 400
    TokenIndex.open(index.path).check()


def rewrite_manifest(folder: Path, **changes: object) -> None:
    outer = json.loads((folder / MANIFEST).read_text())
    body = json.dumps({**json.loads(outer["content"]), **changes})
    (folder / MANIFEST).write_text(json.dumps({"crc32": zlib.crc32(body.encode()), "content": body}))


def test_a_merge_refuses_what_is_damaged(index: TokenIndex) -> None:
    file = index.path / "segment-000001" / "codes.npy"
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(DamagedIndex, match=r"codes\.npy was changed"):
        index.add(make_vectors(60, 16))
    assert [path.name for path in index.path.glob("segment-*")] == ["segment-000001"]
    file.write_bytes(content)
    assert len(index.add(make_vectors(60, 16))) == 120


def test_newer_and_foreign_are_told_apart(index: TokenIndex) -> None:
    rewrite_manifest(index.path, version=99)
    with pytest.raises(NewerFormat, match="99"):
        TokenIndex.open(index.path)
    rewrite_manifest(index.path, version=1, kind="something else")
    with pytest.raises(NotAnIndex, match="something else"):
        TokenIndex.open(index.path)
    (index.path / MANIFEST).write_text("{}")
    with pytest.raises(DamagedIndex):
        TokenIndex.open(index.path)


def test_leftovers_of_a_killed_add_are_swept(index: TokenIndex) -> None:
    leftover = index.path / "segment-000002"
    leftover.mkdir()
    (leftover / "codes.npy").write_bytes(b"half")
    assert len(TokenIndex.open(index.path)) == 60
    assert len(index.add(make_vectors(3, 16))) == 63


def test_leftovers_of_a_killed_build_are_swept(tmp_path: Path) -> None:
    dead, foreign = (tmp_path / f".x.making-{name}" for name in ("dead", "old-copy"))
    for folder in (dead, foreign):
        folder.mkdir()
    (dead / LOCK).touch()
    (foreign / "notes").touch()
    with make_temporary_folder(tmp_path / "x") as living:
        TokenIndex.build(tmp_path / "x", make_vectors(5, 8, shortest=1))
        assert not dead.exists()
        assert foreign.exists()
        assert living.exists()


def test_files_of_others_stay(index: TokenIndex) -> None:
    (index.path / "segment-000001.bak").mkdir()
    (index.path / "segment-notes.txt").touch()
    index.add(make_vectors(3, 16))
    assert (index.path / "segment-000001.bak").exists()
    assert (index.path / "segment-notes.txt").exists()


def test_arrays_that_do_not_belong_together(index: TokenIndex) -> None:
    """Valid checksums, wrong shapes: refused before native code sees them."""
    manifest = json.loads(json.loads((index.path / MANIFEST).read_text())["content"])
    for name, values in {"starts": np.array([0, 10**6], np.uint32), "level_bytes": np.zeros(3, np.uint8)}.items():
        file = index.path / "codec" / f"{name}.npy"
        original = file.read_bytes()
        np.save(file, values)
        content = file.read_bytes()
        codec = json.loads(json.dumps(manifest["codec"]))
        codec["files"][file.name] = {"bytes": len(content), "crc32": zlib.crc32(content)}
        rewrite_manifest(index.path, codec=codec)
        with pytest.raises(DamagedIndex, match="fit together"):
            TokenIndex.open(index.path)
        file.write_bytes(original)


def test_arrays_are_npy_files(index: TokenIndex) -> None:
    files = [file for file in files_of(index) if file.name != MANIFEST]
    for file in files:
        assert np.load(file).nbytes + file.read_bytes().index(b"\n") + 1 == file.stat().st_size
        assert (file.read_bytes().index(b"\n") + 1) % 64 == 0


@pytest.mark.parametrize(
    "changes",
    [{"settings": None}, {"segments": [{"name": "segment-000001"}]}, {"segments": 3}, {"codec": {}}, {"codec": None}],
)
def test_a_manifest_with_a_right_checksum_and_wrong_content(index: TokenIndex, changes: dict[str, object]) -> None:
    rewrite_manifest(index.path, **changes)
    with pytest.raises(DamagedIndex, match="manifest"):
        TokenIndex.open(index.path)
