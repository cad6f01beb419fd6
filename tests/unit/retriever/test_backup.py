"""Copies of an index in use: complete and verified, or not there."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from asterism import Backup, Collection, Document, FactorisedIndex, Retriever, TermCounting
from asterism.collection.policy import Policy
from asterism.errors import DamagedIndex, IndexExists, IndexFolderError, InputError
from asterism.retriever.backup import back_up
from tests.faults.small_index import words_of
from tests.full_disks import limit_file_size
from tests.golden.index_files import HERE, answers
from tests.unit.factorised.matrices import MatrixScorer, draw_matrix, name_items, name_queries

GOLDEN = sorted(path for path in HERE.iterdir() if path.name.startswith("index-") and path.is_dir())


def make(path: Path, segments: int = 3, **policy: Any) -> Retriever:
    counting = TermCounting(language="none")
    made = Retriever.create(path, views=["lexical"], counting=counting, policy=Policy(most_segments=1000, **policy))
    with made.collection.writing():
        pass
    for part in range(segments):
        made.add([Document(f"{part}-{i}", f"fox {i}", metadata={"part": part}) for i in range(1 + part)])
    return made


def refuse_link(*_: Any, **__: Any) -> None:
    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))


@pytest.mark.parametrize("links", [True, False])
def test_a_copy_is_an_index_of_its_own(tmp_path: Path, links: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not links:
        monkeypatch.setattr(os, "link", refuse_link)
    with make(tmp_path / "x") as made:
        done = made.backup(tmp_path / "new" / "y")
        assert done == Backup(tmp_path / "new" / "y", 6, done.bytes)
        shared = [file.stat().st_nlink > 1 for file in (tmp_path / "x").rglob("*.npy")]
        assert shared == [links] * len(shared)
        with Retriever.open(tmp_path / "new" / "y") as copy:
            copy.delete(["0-0"])
            copy.compact()
            assert (len(copy), len(made)) == (5, 6)
            copy.check()
        made.check()
        with pytest.raises(IndexExists):
            made.backup(tmp_path / "new" / "y")
        with pytest.raises(InputError, match="path is a int"):
            made.backup(5)  # type: ignore[arg-type]
        shutil.rmtree(tmp_path / "x")
        (tmp_path / "new" / "y").rename(tmp_path / "x")
        with pytest.raises(IndexFolderError, match="was replaced by another index: open it again"):
            len(made)


@pytest.mark.parametrize("folder", GOLDEN, ids=lambda path: path.name)
def test_every_format_can_be_copied(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "x")
    collection = Collection.open(tmp_path / "x")
    assert back_up(collection, tmp_path / "y").documents == 28
    collection.close()
    copy = Collection.open(tmp_path / "y")
    copy.check()
    expected = json.loads((HERE / f"{folder.name}.json").read_text())
    assert [[list(hit) for hit in hits] for hits in answers(copy)] == expected
    with copy.writing() as writer:
        writer.compact()
    copy.check()
    copy.close()


@pytest.mark.parametrize("name", ["segment-*/lexical/lengths.npy", "segment-*/numbers.npy", "catalog.sqlite"])
@pytest.mark.parametrize("harm", ["flip", "remove"])
def test_damage_is_not_copied(name: str, harm: str, tmp_path: Path) -> None:
    made = make(tmp_path / "x")
    file = min((tmp_path / "x").glob(name))
    content = bytearray(file.read_bytes())
    at = content.rfind(b"fox 1") if name.endswith("sqlite") else len(content) - 1
    content[at] ^= 1
    file.unlink()
    if harm == "flip":
        file.write_bytes(content)
    with pytest.raises(IndexFolderError) as raised:
        made.backup(tmp_path / "y")
    assert "making" not in str(raised.value)
    if harm == "flip":
        assert isinstance(raised.value, DamagedIndex)
        assert str(tmp_path / "x") in str(raised.value)
    made.close()
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", refuse_link)
    with make(tmp_path / "x") as made:
        for most in (0, 100, 5_000, 20_000):
            with limit_file_size(most), pytest.raises(IndexFolderError, match="cannot be written"):
                made.backup(tmp_path / "y")
            assert [path.name for path in tmp_path.iterdir()] == ["x"]
        made.backup(tmp_path / "y")


def test_few_descriptors(tmp_path: Path) -> None:
    with make(tmp_path / "x", segments=2) as made:
        with made.collection.writing() as writer:
            for part in range(100):
                document = Document(f"more{part}", "fox")
                writer.add([document], words_of([document.text]))
        assert len(made.collection.snapshot().segments) > 60
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        try:
            assert made.backup(tmp_path / "y").documents == 103
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("links", [True, False])
def test_copies_while_another_thread_writes(tmp_path: Path, links: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs are added and deleted as wholes while segments are merged; every copy has whole pairs."""
    if not links:
        monkeypatch.setattr(os, "link", refuse_link)
    made = make(tmp_path / "x", segments=1)
    done = threading.Event()

    def write() -> None:
        with Retriever.open(tmp_path / "x") as writer:
            for number in range(10_000):
                if done.is_set():
                    return
                pair = [Document(f"{side}{number}", f"fox {number}", metadata={"n": number}) for side in "ab"]
                writer.add(pair, wait=10)
                if number % 3 == 0:
                    writer.delete(filter={"n": number - 2}, wait=10)
                if number % 5 == 0:
                    writer.set_metadata({"five": number}, filter={"n": {"$gte": number - 3}}, wait=10)
                if number % 7 == 0:
                    writer.compact()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for number in range(8):
            made.backup(tmp_path / f"y{number}")
            with Retriever.open(tmp_path / f"y{number}") as copy:
                copy.check()
                seen: dict[int, set[Any]] = {}
                for document in copy.list(filter={"n": {"$exists": True}}):
                    seen.setdefault(document.metadata["n"], set()).add((document.id[0], document.metadata.get("five")))
                assert all(len(pair) == 2 and len({five for _, five in pair}) == 1 for pair in seen.values())
    finally:
        done.set()
        thread.join()
    made.close()


def test_scores_of_a_scorer_are_copied(tmp_path: Path) -> None:
    scorer = MatrixScorer(draw_matrix(4, 12, 3, 1))
    with FactorisedIndex.build(scorer, name_items(12), name_queries(range(3)), tmp_path / "x", anchor_items=2) as made:
        expected = made.search("q3", 3, calls=4).ids
        made.retriever.backup(tmp_path / "y")
        with FactorisedIndex.open(tmp_path / "y", scorer) as copy:
            assert copy.search("q3", 3, calls=4).ids == expected
            assert copy.info()["scored"] == 12
            copy.check()
        file = next((tmp_path / "x" / "cross").rglob("scores.npy"))
        file.unlink()
        with pytest.raises(DamagedIndex, match=r"scores\.npy"):
            made.retriever.backup(tmp_path / "z")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x", "y"]
