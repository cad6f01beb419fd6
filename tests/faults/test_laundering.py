"""Writing to a damaged index does not hide the damage. A repair brings every document back.

Only a document whose own row lost its frame cannot come back; the repair counts these.
"""

from __future__ import annotations

import errno
import random
import shutil
import sqlite3
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from asterism import Collection, Representations, TokenSearch
from asterism.collection.policy import Policy
from asterism.collection.repair.repair import repair_collection
from asterism.errors import AsterismError, DamagedIndex, IndexFolderError, NewerFormat, UnknownModel
from asterism.files import regular_files
from tests.faults.driver import views_of
from tests.faults.small_index import (
    Texts,
    add,
    change_metadata,
    checked,
    compact,
    delete,
    make_index,
    repaired,
    represent,
    searches,
    settle,
    stored_texts,
)


@pytest.fixture(scope="module", params=["flat", "coded"])
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Texts]:
    path = tmp_path_factory.mktemp("laundering") / "x.ast"
    return path, make_index(path, request.param == "coded")


def flip(path: Path, rng: random.Random, any_file: bool) -> str:
    """One bit of one file, chosen by size, or any file with equal chance."""
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.stat().st_size)
    weights = [1 if any_file else file.stat().st_size for file in files]
    file = rng.choices(files, weights)[0]
    content = bytearray(file.read_bytes())
    place = rng.randrange(len(content))
    content[place] ^= 1 << rng.randrange(8)
    file.write_bytes(content)
    return f"a flip in {file.relative_to(path)} at {place}"


def is_damaged(path: Path) -> bool:
    try:
        checked(path)
    except AsterismError:
        return True
    return False


def write_and_look(path: Path) -> None:
    """What a user does who does not know of the damage; our own errors are ignored."""
    for operation in (searches, add, change_metadata, settle, compact):
        with suppress(AsterismError):
            operation(path)


def launder(index: tuple[Path, Texts], work: Path, flips: int, seed: int) -> Counter[str]:
    original, texts = index
    sound = work / "sound.ast"
    shutil.copytree(original, sound)
    expected = searches(sound)
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    for number in range(flips):
        copy = work / "copy.ast"
        shutil.copytree(original, copy)
        what = flip(copy, rng, number % 2 == 0)
        damaged = is_damaged(copy)
        if not damaged:
            assert searches(copy) == expected, f"another answer after {what}"
        write_and_look(copy)
        if damaged and not is_damaged(copy):
            counts["gone with what was replaced"] += 1
            assert {**texts, "new": "a new text"} == stored_texts(copy), f"laundered: {what}"
        try:
            repair = repaired(copy)
        except NewerFormat:  # the flip changed the version
            counts["newer"] += 1
            shutil.rmtree(copy)
            continue
        checked(copy)
        found = stored_texts(copy)
        assert found.pop("new", "a new text") == "a new text"
        assert found.items() <= texts.items(), f"other documents after {what}"
        assert len(texts) - len(found) <= min(1, repair.lost), f"documents are missing after {what}: {repair}"
        counts["lost with its own row"] += repair.lost
        counts["damaged" if damaged else "nothing that counts"] += 1
        shutil.rmtree(copy)
    return counts


def test_some_damage_is_not_laundered(index: tuple[Path, Texts], tmp_path: Path) -> None:
    assert launder(index, tmp_path, 10, 3)["damaged"] > 4


@pytest.mark.slow
def test_much_damage_is_not_laundered(
    index: tuple[Path, Texts], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = launder(index, tmp_path, 1000, 4)
    with capsys.disabled():
        print(f"\nflips: {dict(counts)}")
    assert counts["damaged"] > 400


def make_damaged(folder: Path, name: str) -> Path:
    """An index with a wrong byte in an array of its first segment, whose file this returns."""
    make_index(folder, coded=True)
    file = min(folder.glob(f"segment-*/{name}.npy"))
    content = bytearray(file.read_bytes())
    content[131] ^= 0xFF
    file.write_bytes(content)
    return file


@pytest.mark.parametrize("name", ["codes", "centroids", "scales", "list_documents"])
def test_a_merge_refuses_what_is_damaged(tmp_path: Path, name: str) -> None:
    """It once copied changed codes under a new checksum, and passed changed centroids to native code."""
    file = make_damaged(tmp_path / "x", f"multi/{name}")
    delete(tmp_path / "x")
    for _ in range(2):
        with pytest.raises(DamagedIndex, match=file.parts[-3]):
            compact(tmp_path / "x")
        with pytest.raises(DamagedIndex, match=file.name):
            checked(tmp_path / "x")
    assert repaired(tmp_path / "x").dropped == (file.parts[-3],)
    checked(tmp_path / "x")


@pytest.mark.parametrize("name", ["multi/codes", "multi/scales", "dense/vectors", "lexical/counts", "numbers"])
def test_a_change_of_metadata_refuses_what_is_damaged(tmp_path: Path, name: str) -> None:
    """It copies rows, and would give the damage a new checksum. Documents of sound segments can be changed."""
    file = make_damaged(tmp_path / "x", name)
    for _ in range(2):
        with pytest.raises(DamagedIndex, match=r"segment|in order"):
            change_metadata(tmp_path / "x", {"part": 0})
        with pytest.raises(DamagedIndex):
            checked(tmp_path / "x")
    if name != "numbers":
        change_metadata(tmp_path / "x", {"part": 2})
        with pytest.raises(DamagedIndex, match=file.name):
            checked(tmp_path / "x")
    assert file.parts[-2 if name == "numbers" else -3] in repaired(tmp_path / "x").dropped
    checked(tmp_path / "x")


def test_a_filter_never_returns_a_document_that_does_not_match(tmp_path: Path) -> None:
    """Fields that contradict the metadata were once given a new checksum by a write."""
    make_index(tmp_path / "x", coded=False)
    connection = sqlite3.connect(tmp_path / "x" / "catalog.sqlite")
    connection.execute("UPDATE fields SET value = 1 WHERE name = 'part' AND value = 2")
    connection.commit()
    connection.close()
    add(tmp_path / "x")
    opened = Collection.open(tmp_path / "x", Policy(verified_catalog=0))  # as if it were too large to be verified
    query = views_of(["text 2 1 "]).multi[0]
    with pytest.raises(DamagedIndex, match="fields that are not those of its documents"):
        opened.search(query, 50, TokenSearch(), {"part": 1})
    with pytest.raises(DamagedIndex, match="fields"):
        opened.check()
    opened.close()
    assert repaired(tmp_path / "x").catalog
    checked(tmp_path / "x")


def test_a_repair_that_was_stopped_goes_on(tmp_path: Path) -> None:
    texts = make_index(tmp_path / "x", coded=True)
    file = min((tmp_path / "x").glob("segment-*/multi/codes.npy"))
    file.write_bytes(file.read_bytes()[:-1] + b"x")

    calls = []

    def stopped(*given: Any) -> Representations:
        calls.append(given)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return represent(*given)

    with pytest.raises(KeyboardInterrupt):
        repair_collection(tmp_path / "x", stopped)
    with pytest.raises(DamagedIndex, match="run it again"):
        Collection.open(tmp_path / "x")
    assert repair_collection(tmp_path / "x", represent).represented == 30
    checked(tmp_path / "x")
    assert stored_texts(tmp_path / "x") == texts


def test_a_sound_index_is_left_alone(tmp_path: Path) -> None:
    make_index(tmp_path / "x", coded=True)
    before = {file: file.read_bytes() for file in (tmp_path / "x").rglob("*") if file.is_file()}
    done = repaired(tmp_path / "x")
    assert (done.catalog, done.dropped, done.represented, done.lost) == (False, (), 0, 0)
    assert before == {file: file.read_bytes() for file in (tmp_path / "x").rglob("*") if file.is_file()}


def test_a_repair_without_descriptors_drops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A segment that cannot be opened because of a limit of the system is not damaged, and must be kept."""
    texts = make_index(tmp_path / "x", coded=True)
    before = sorted(path.name for path in (tmp_path / "x").glob("segment-*"))
    opened = regular_files.os.open

    def refused(path: Path, *given: int) -> int:
        if str(path).endswith("codes.npy"):
            raise OSError(errno.EMFILE, "Too many open files")
        return opened(path, *given)

    with monkeypatch.context() as patch:
        patch.setattr(regular_files.os, "open", refused)
        with pytest.raises(IndexFolderError, match="ulimit -n"):
            repaired(tmp_path / "x")
    assert sorted(path.name for path in (tmp_path / "x").glob("segment-*")) == before
    assert stored_texts(tmp_path / "x") == texts


def test_a_repair_without_its_model_changes_nothing(tmp_path: Path) -> None:
    make_index(tmp_path / "x", coded=True)
    file = min((tmp_path / "x").glob("segment-*/multi/codes.npy"))
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    before = sorted(path.name for path in (tmp_path / "x").glob("segment-*"))

    def missing(*_: object) -> None:
        raise UnknownModel("there is no such folder")

    with pytest.raises(UnknownModel):
        repair_collection(tmp_path / "x", missing)
    assert sorted(path.name for path in (tmp_path / "x").glob("segment-*")) == before
    assert len(Collection.open(tmp_path / "x").get(["d0-1"])) == 1
