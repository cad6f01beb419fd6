"""The table of scores on disk: blocks are commits, damage is found, and the end does not depend on the way."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from asterism.errors import DamagedIndex, IndexBusy, IndexExists, InputError, NewerFormat, NotAnIndex
from asterism.factorised import blocks
from asterism.factorised.table import ScoreTable
from asterism.storage.arrays import write_arrays
from asterism.storage.manifest import write_manifest

QUERIES = ["first", "second", "third"]


def draw(numbers: list[int]) -> np.ndarray:
    return np.array([[number, -number, number / 7] for number in numbers], np.float32)


def make(folder: Path, *blocks: list[int], precision: str = "float32") -> ScoreTable:
    table = ScoreTable.create(folder, QUERIES, precision, {"scorer": "a"})
    for block in blocks:
        with table.writing() as writer:
            writer.append(np.array(block), draw(block))
    return ScoreTable.open(folder)


def read_all(folder: Path) -> dict[str, bytes]:
    files = (file for file in folder.rglob("*") if file.is_file() and not file.name.startswith("writer"))
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_blocks_are_kept(tmp_path: Path, precision: str) -> None:
    table = make(tmp_path / "t", [1, 2, 5], [6], [9, 10], precision=precision)
    assert table.numbers.tolist() == [1, 2, 5, 6, 9, 10]
    np.testing.assert_allclose(table.read(), draw([1, 2, 5, 6, 9, 10]), rtol=1e-3)
    assert table.read().dtype == precision
    assert table.state.queries == tuple(QUERIES)
    assert table.state.made_of == {"scorer": "a"}
    table.verify()


def test_the_end_does_not_depend_on_how_often_it_was_opened(tmp_path: Path) -> None:
    kept = np.array([1, 2, 5, 6])
    for name in ("one", "two"):
        table = ScoreTable.create(tmp_path / name, QUERIES, "float32", {})
        with table.writing() as writer:
            writer.append(np.array([1, 2]), draw([1, 2]))
            if name == "one":
                writer.append(np.array([5, 6, 9]), draw([5, 6, 9]))
                writer.finish(kept, [6, 1], 0.01)
        if name == "two":
            with table.writing() as writer:
                writer.append(np.array([5, 6, 9]), draw([5, 6, 9]))
            with table.writing() as writer:
                writer.finish(kept, [6, 1], 0.01)
    assert read_all(tmp_path / "one") == read_all(tmp_path / "two")
    table = ScoreTable.open(tmp_path / "one")
    assert table.numbers.tolist() == [1, 2, 5, 6]
    np.testing.assert_array_equal(table.read(), draw([1, 2, 5, 6]))
    assert (table.state.anchors, table.state.ridge) == ((6, 1), 0.01)


def test_nothing_is_left_of_old_blocks(tmp_path: Path) -> None:
    table = make(tmp_path / "t", [1], [2])
    with table.writing() as writer:
        writer.finish(np.array([1, 2]), [1], 0.0)
    assert len([path for path in (tmp_path / "t").iterdir() if path.is_dir()]) == 1
    with ScoreTable.open(tmp_path / "t").writing() as writer:
        writer.finish(np.array([], np.int64), [], 0.0)
    assert len(ScoreTable.open(tmp_path / "t").numbers) == 0


def test_a_killed_writer_leaves_no_trace(tmp_path: Path) -> None:
    make(tmp_path / "t", [1, 2])
    (tmp_path / "t" / "segment-000002").mkdir()
    (tmp_path / "t" / "segment-000002" / "scores.npy").write_bytes(b"half")
    table = ScoreTable.open(tmp_path / "t")
    with table.writing() as writer:
        writer.append(np.array([3]), draw([3]))
    assert ScoreTable.open(tmp_path / "t").numbers.tolist() == [1, 2, 3]


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    table = make(tmp_path / "t", [1])
    with table.writing(), pytest.raises(IndexBusy), ScoreTable.open(tmp_path / "t").writing():
        pass


def test_damage(tmp_path: Path) -> None:
    table = make(tmp_path / "t", [1, 2], [4])
    file = tmp_path / "t" / "segment-000001" / "scores.npy"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(DamagedIndex, match="was changed"):
        ScoreTable.open(tmp_path / "t").verify()
    with table.writing() as writer, pytest.raises(DamagedIndex):
        writer.finish(np.array([1, 2, 4]), [1], 0.0)
    file.unlink()
    with pytest.raises(DamagedIndex):
        ScoreTable.open(tmp_path / "t").read()


@pytest.mark.parametrize(
    "change",
    [
        {"queries": "no list"},
        {"queries": []},
        {"anchors": [1.5]},
        {"anchors": [10**30]},
        {"anchors": [-1]},
        {"ridge": -0.5},
        {"precision": "float64"},
        {"ridge": float("nan")},
        {"segments": [{"name": "../x", "rows": 1, "files": {}}]},
        {"segments": [{"name": "segment-000001", "rows": -1, "files": {}}]},
        {"made_of": 3},
    ],
)
def test_forged_manifests(tmp_path: Path, change: dict[str, object]) -> None:
    table = make(tmp_path / "t", [1, 2])
    write_manifest(tmp_path / "t", {**json.loads(json.dumps(table.state.to_json())), **change})
    with pytest.raises(DamagedIndex):
        ScoreTable.open(tmp_path / "t")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_forged_scores(tmp_path: Path, value: float) -> None:
    """With right checksums."""
    folder = tmp_path / "t"
    state = json.loads(json.dumps(make(folder, [1, 2]).state.to_json()))
    rows = draw([1, 2])
    rows[1, 2] = value
    (folder / "segment-000001" / "scores.npy").unlink()
    state["segments"][0]["files"] |= write_arrays(folder / "segment-000001", {"scores": rows})
    write_manifest(folder, state)
    with pytest.raises(DamagedIndex, match="has scores that are not numbers"):
        ScoreTable.open(folder).verify()


def test_damaged_numbers(tmp_path: Path) -> None:
    """They say whose scores the rows are: compared with their checksum before anything is read or written."""
    make(tmp_path / "t", [1, 2])
    file = tmp_path / "t" / "segment-000001" / "numbers.npy"
    content = bytearray(file.read_bytes())
    content[-8] ^= 4  # 6 instead of 2, still in order
    file.write_bytes(content)
    with pytest.raises(DamagedIndex, match=r"was changed since .*: restore it from a copy, or remove .*/t and build"):
        ScoreTable.open(tmp_path / "t")


def test_rows_that_are_out_of_order(tmp_path: Path) -> None:
    """Blocks may come in any order; what is read is in order."""
    table = make(tmp_path / "t", [1, 5])
    with table.writing() as writer:
        with pytest.raises(DamagedIndex, match="does not have yet"):
            writer.append(np.array([3, 5]), draw([3, 5]))
        writer.append(np.array([3]), draw([3]))
    opened = ScoreTable.open(tmp_path / "t")
    assert opened.numbers.tolist() == [1, 3, 5]
    assert np.array_equal(opened.read(), draw([1, 3, 5]))


def test_rows_are_carried_over(tmp_path: Path) -> None:
    """A number changes without its text: the new one has the scores of the old, and is an anchor if that was one."""
    table = make(tmp_path / "t", [1, 2, 5])
    with table.writing() as writer:
        writer.finish(np.array([1, 2, 5]), [2, 5], 0.5)
        writer.carry_over(np.array([2, 3]), np.array([7, 8]))
        writer.append(np.array([6]), draw([6]))
        assert writer.table.state.anchors == (7, 5)
        writer.carry_over(np.array([100]), np.array([101]))
        writer.finish(np.array([1, 5, 6, 7]), writer.table.state.anchors, 0.5)
    opened = ScoreTable.open(tmp_path / "t")
    assert opened.numbers.tolist() == [1, 5, 6, 7]
    assert np.array_equal(opened.read(), draw([1, 5, 6, 2]))


def test_damaged_rows_are_not_carried_over(tmp_path: Path) -> None:
    table = make(tmp_path / "t", [1, 2])
    file = tmp_path / "t" / "segment-000001" / "scores.npy"
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    with table.writing() as writer, pytest.raises(DamagedIndex, match="was changed since"):
        writer.carry_over(np.array([2]), np.array([7]))
    assert ScoreTable.open(tmp_path / "t").numbers.tolist() == [1, 2]


def test_scores_that_do_not_fit(tmp_path: Path) -> None:
    table = make(tmp_path / "t", precision="float16")
    with table.writing() as writer, pytest.raises(InputError, match=r"a score is 100000 .* more than float16 can hold"):
        writer.append(np.array([1, 100_000]), draw([1, 100_000]))
    assert len(ScoreTable.open(tmp_path / "t").numbers) == 0


def test_links_are_not_followed(tmp_path: Path) -> None:
    """A writer would remove folders elsewhere."""
    make(tmp_path / "elsewhere", [1])
    (tmp_path / "t").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DamagedIndex, match="is not a folder"):
        ScoreTable.open(tmp_path / "t")
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    with pytest.raises(DamagedIndex, match="is not a folder"):
        ScoreTable.open(tmp_path / "broken")


def test_readers_of_joined_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that are joined while a reader opens them are no damage, and an open table stays readable."""
    folder = tmp_path / "t"
    old = make(folder, [1], [2])
    read = blocks.read_manifest
    joined = []

    def join_after_reading(*arguments: object) -> object:
        found = read(*arguments)
        if not joined:
            joined.append(True)
            with old.writing() as writer:
                writer.finish(np.array([1, 2]), [1], 0.0)
        return found

    monkeypatch.setattr(blocks, "read_manifest", join_after_reading)
    assert ScoreTable.open(folder).state.anchors == (1,)
    np.testing.assert_array_equal(old.read(), draw([1, 2]))
    old.verify()  # a search verifies what it has open, when the blocks are gone


def test_other_folders(tmp_path: Path) -> None:
    with pytest.raises(NotAnIndex):
        ScoreTable.open(tmp_path / "none")
    table = make(tmp_path / "t")
    with pytest.raises(IndexExists):
        ScoreTable.create(tmp_path / "t", QUERIES, "float32", {})
    write_manifest(tmp_path / "t", {**table.state.to_json(), "version": 99})
    with pytest.raises(NewerFormat):
        ScoreTable.open(tmp_path / "t")
