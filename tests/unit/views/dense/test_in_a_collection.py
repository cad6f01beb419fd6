"""Dense segments of a collection: a full disk, damage, and indexes kept across commits."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from asterism import Collection, Document, Representations, Views
from asterism.collection.policy import Policy
from asterism.errors import DamagedIndex, IndexFolderError
from asterism.storage import arrays
from asterism.views.dense.segment import VECTORS
from tests.unit.views.dense.rows import normal


@contextmanager
def full_disk(monkeypatch: pytest.MonkeyPatch, room: int) -> Iterator[None]:
    """`room` bytes of arrays can be written."""
    write = arrays.ArrayWriter.write

    def writes(self: arrays.ArrayWriter, values: np.ndarray) -> None:
        nonlocal room
        room -= values.nbytes
        if room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, values)

    with monkeypatch.context() as patch:
        patch.setattr(arrays.ArrayWriter, "write", writes)
        yield


def put(collection: Collection, rows: np.ndarray, name: str) -> None:
    documents = [Document(f"{name}{i}", "text") for i in range(len(rows))]
    with collection.writing() as writer:
        writer.add(documents, Representations(len(rows), rows))


def test_a_full_disk_leaves_the_collection_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = Collection.create(tmp_path / "x", Views(dense=True), {}, Policy(graph_documents=1))
    put(collection, normal(30), "a")
    for room in (0, 500, 1500):
        with full_disk(monkeypatch, room), pytest.raises(IndexFolderError, match="No space left"):
            put(collection, normal(30), "b")
    collection.check()
    assert len(list(tmp_path.glob("x/segment-*"))) == 1
    put(collection, normal(30), "b")
    assert collection.snapshot().dense.documents == 60


@pytest.mark.parametrize("many", [10**9, 1], ids=["flat", "graph"])
def test_damaged_vectors_are_found(tmp_path: Path, many: int) -> None:
    collection = Collection.create(tmp_path / "x", Views(dense=True), {}, Policy(graph_documents=many))
    put(collection, normal(30), "a")
    (file,) = (tmp_path / "x").glob(f"segment-*/dense/{VECTORS}")
    whole = file.read_bytes()
    collection.check()
    rng = np.random.default_rng(0)
    for place in [0, len(whole) - 1, *rng.integers(len(whole), size=40).tolist()]:
        changed = bytearray(whole)
        changed[place] ^= 1 << int(rng.integers(8))
        file.write_bytes(changed)
        with pytest.raises(DamagedIndex):
            collection.check()
    for size in (0, 64, len(whole) - 1):
        file.write_bytes(whole[:size])
        with pytest.raises(DamagedIndex):
            collection.check()
    file.write_bytes(whole)
    collection.check()


def test_a_commit_keeps_what_faiss_has_read(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "x", Views(dense=True), {}, Policy(graph_documents=1))
    put(collection, normal(30), "a")
    before = collection.snapshot()
    index = before.dense.segments[0].get_index()
    with collection.writing() as writer:
        writer.delete(["a3"])
    put(collection, normal(5), "b")
    after = collection.snapshot()
    assert after.dense is not before.dense
    assert after.dense.segments[0].get_index() is index
    assert not after.kept.flags.writeable
