"""Scored pairs on disk: blocks are commits, damage is found, and the end does not depend on the way."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from asterism.errors import DamagedIndex, IndexBusy, IndexExists, NotAnIndex
from asterism.factorised.pairs import PairTable, PairWriter
from asterism.storage.manifest import write_manifest

QUERIES = ["first", "second", "third"]
VECTORS = np.arange(9, dtype=np.float32).reshape(3, 3)


def append(writer: PairWriter, *pairs: tuple[int, int]) -> None:
    queries, documents = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    writer.append(queries, documents, (10 * queries + documents).astype(np.float32))


def make(folder: Path) -> PairTable:
    table = PairTable.create(folder, QUERIES, {"scorer": "a"})
    with table.writing() as writer:
        append(writer, (0, 4), (0, 9))
        append(writer, (2, 4), (2, 5))
    return PairTable.open(folder)


def finish(table: PairTable) -> PairTable:
    with table.writing() as writer:
        writer.finish(np.array([4, 5, 9]), np.array([4, 5, 9]), VECTORS, (0.5, 0.25))
        return writer.table


def read_all(folder: Path) -> dict[str, bytes]:
    files = (file for file in folder.rglob("*") if file.is_file() and not file.name.startswith("writer"))
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def test_blocks_and_a_fit_are_kept(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    assert table.state.fit is None
    finish(table)
    for found in (PairTable.open(tmp_path / "t"), finish(table)):  # twice: the same
        found.verify()
        assert (found.queries.tolist(), found.documents.tolist()) == ([0, 0, 2, 2], [4, 9, 4, 5])
        assert found.scores.tolist() == [4, 9, 24, 25]
        assert found.numbers.tolist() == [4, 5, 9]
        np.testing.assert_array_equal(found.vectors, VECTORS)
        assert found.state.fit is not None
        assert (found.state.fit.error_before, found.state.fit.error_after) == (0.5, 0.25)
        assert len([path for path in (tmp_path / "t").iterdir() if path.is_dir()]) == 2


def test_deleted_documents_go(tmp_path: Path) -> None:
    with make(tmp_path / "t").writing() as writer:
        writer.finish(np.array([4]), np.array([4]), VECTORS[:1], (1.0, 1.0))
        assert (writer.table.queries.tolist(), writer.table.documents.tolist()) == ([0, 2], [4, 4])
        writer.finish(np.array([], np.int64), np.array([], np.int64), VECTORS[:0], (1.0, 1.0))
        assert len(writer.table.scores) == len(writer.table.numbers) == 0


def test_an_interrupted_build_ends_with_the_same_bytes(tmp_path: Path) -> None:
    finish(make(tmp_path / "whole"))
    table = PairTable.create(tmp_path / "killed", QUERIES, {"scorer": "a"})
    with table.writing() as writer:
        append(writer, (0, 4), (0, 9))
    (tmp_path / "killed" / "segment-000002").mkdir()
    (tmp_path / "killed" / "segment-000002" / "scores.npy").write_bytes(b"half")
    with table.writing() as writer:
        append(writer, (2, 4), (2, 5))
    finish(table)
    assert read_all(tmp_path / "killed") == read_all(tmp_path / "whole")


def test_readers_of_joined_blocks(tmp_path: Path) -> None:
    old = make(tmp_path / "t")
    finish(old)
    old.verify()
    assert old.scores.tolist() == [4, 9, 24, 25]


@pytest.mark.parametrize("file", ["queries", "documents", "scores", "numbers", "vectors"])
def test_damage(tmp_path: Path, file: str) -> None:
    table = finish(make(tmp_path / "t"))
    (path,) = (tmp_path / "t").glob(f"*/{file}.npy")
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedIndex, match=r"was changed .*: restore it from a copy, or remove .*/t and build"):
        PairTable.open(tmp_path / "t").verify()
    with pytest.raises(DamagedIndex), table.writing():
        pass
    path.unlink()
    with pytest.raises(DamagedIndex):
        PairTable.open(tmp_path / "t")


@pytest.mark.parametrize(
    "change",
    [
        {"queries": "no list"},
        {"queries": []},
        {"made_of": 3},
        {"segments": [{"name": "../x", "rows": 1, "files": {}}]},
        {"fit": 5},
        {"fit": {"segment": {"name": "segment-000003", "rows": 3, "files": {}}, "dimensions": 3}},
    ],
)
def test_forged_manifests(tmp_path: Path, change: dict[str, object]) -> None:
    table = make(tmp_path / "t")
    write_manifest(tmp_path / "t", {**json.loads(json.dumps(table.state.to_json())), **change})
    with pytest.raises(DamagedIndex):
        PairTable.open(tmp_path / "t")


def test_pairs_of_unknown_queries(tmp_path: Path) -> None:
    with make(tmp_path / "t").writing() as writer:
        append(writer, (3, 1))
    with pytest.raises(DamagedIndex, match="pairs of queries that it does not list"):
        PairTable.open(tmp_path / "t").verify()


def test_other_folders_and_writers(tmp_path: Path) -> None:
    with pytest.raises(NotAnIndex):
        PairTable.open(tmp_path / "none")
    table = make(tmp_path / "t")
    with pytest.raises(IndexExists):
        PairTable.create(tmp_path / "t", QUERIES, {})
    with table.writing(), pytest.raises(IndexBusy), PairTable.open(tmp_path / "t").writing():
        pass
