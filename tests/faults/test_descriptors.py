"""An index needs only a few descriptors, however many segments and threads there are."""

from __future__ import annotations

import errno
import gc
import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from asterism import Collection, Document, TokenIndex, TokenSearch, Views
from asterism.collection.policy import Policy
from asterism.errors import DamagedIndex, IndexFolderError
from asterism.storage.arrays import ArrayWriter
from asterism.storage.faults import unreadable
from tests.conftest import ALL_VIEWS, found_in, in_all_views, make_query, make_vectors
from tests.faults.small_index import words_of

MOST_OPEN = 150


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_mapped_segment_keeps_no_descriptor(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "x", ALL_VIEWS, {}, Policy(most_segments=1000))
    before = open_files()
    for part in range(40):
        with collection.writing() as writer:
            vectors = make_vectors(2, seed=part, shortest=1)
            writer.add([Document(f"{part}-{i}", "text") for i in range(2)], in_all_views(vectors))
    assert len(collection.snapshot().segments) == 40
    assert len(found_in(collection, in_all_views(make_vectors(1, shortest=3)), "multi", 80).documents) == 80
    assert open_files() <= before + 4
    collection.close()


@pytest.mark.usefixtures("few_descriptors")
def test_many_batches_under_a_low_limit(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "x", Views(lexical="words"), {})
    most = 0
    with collection.writing() as writer:
        for batch in range(150):
            texts = [f"word{batch} text {i}" for i in range(5)]
            writer.add([Document(f"{batch}-{i}", text) for i, text in enumerate(texts)], words_of(texts))
            most = max(most, open_files())
        writer.settle()
    assert most < MOST_OPEN
    for number in range(50):
        with collection.writing() as writer:
            writer.add([Document(f"n{number}", "one more")], words_of(["one more"]))
            writer.settle()
    collection.check()
    assert len(found_in(collection, words_of(["one more"]), "lexical", 1000).documents) == 50
    assert open_files() < MOST_OPEN
    collection.close()


@pytest.mark.usefixtures("few_descriptors")
def test_a_token_index_that_grows_by_one_document_stays_small(tmp_path: Path) -> None:
    """Each `add` once left one more segment."""
    index = TokenIndex.build(tmp_path / "x", make_vectors(50, 16))
    expected = len(index)
    for part in range(60):
        index = index.add(make_vectors(1, 16, seed=part, shortest=1))
        expected += 1
    assert len(index) == expected
    assert len(list((tmp_path / "x").glob("segment-*"))) < 10
    assert open_files() < MOST_OPEN
    index.check()
    assert len(index.search(make_query(16), 200).ids) == expected


def test_what_a_token_index_merged_is_what_was_added(tmp_path: Path) -> None:
    parts = [make_vectors(count, 16, seed=count, shortest=1) for count in (40, 3, 2, 1, 9, 30)]
    index = TokenIndex.build(tmp_path / "x", parts[0], bits=32)
    for part in parts[1:]:
        index = index.add(part)
    whole = TokenIndex.build(tmp_path / "whole", parts, bits=32)
    query = make_query(16)
    found, expected = (one.search(query, 85, TokenSearch(method="exact")) for one in (index, whole))
    assert found.ids.tolist() == expected.ids.tolist()
    assert found.scores.tolist() == expected.scores.tolist()


def test_short_lived_threads_leave_nothing_open(tmp_path: Path) -> None:
    """Each thread once kept its connection open."""
    collection = Collection.create(tmp_path / "x", Views(lexical="words"), {})
    with collection.writing() as writer:
        writer.add([Document("a", "text")], words_of(["text"]))
    before, errors = open_files(), []

    def look() -> None:
        try:
            assert collection.get(["a"])[0].text == "text"
        except BaseException as error:
            errors.append(error)

    for _ in range(100):
        threads = [threading.Thread(target=look) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert errors == []
    assert open_files() <= before + 5
    collection.close()


@pytest.mark.parametrize(("number", "advice"), [(errno.EMFILE, "ulimit -n"), (errno.EACCES, "permissions")])
def test_an_error_of_the_system_is_not_damage(number: int, advice: str) -> None:
    error = unreadable(Path("x/codes.npy"), OSError(number, os.strerror(number)))
    assert not isinstance(error, DamagedIndex)
    assert advice in str(error)


@contextmanager
def no_descriptor_left() -> Iterator[None]:
    """Every descriptor below the limit is in use."""
    gc.collect()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
    taken: list[int] = []
    try:
        with suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in taken:
            os.close(descriptor)


def test_running_out_of_descriptors_is_reported(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "x", ALL_VIEWS, {})
    with collection.writing() as writer:
        writer.add([Document("a", "text")], in_all_views(make_vectors(1, shortest=1)))
    collection.close()
    with no_descriptor_left(), pytest.raises(IndexFolderError, match="open") as caught:
        Collection.open(tmp_path / "x")
    assert not isinstance(caught.value, DamagedIndex)
    Collection.open(tmp_path / "x").close()


GROW = """
import os, sys
from asterism import Document, Retriever
most = 0
with Retriever.open(sys.argv[1]) as retriever:
    for number in range(int(sys.argv[2])):
        retriever.add([Document(f"new-{number}", f"one more line, number {number}")])
        most = max(most, len(os.listdir("/proc/self/fd")))
    assert retriever.search("number 1234", method="lexical").hits
    retriever.check()
    print(len(retriever), most, retriever.info()["segments"])
"""


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))


@pytest.mark.slow
@pytest.mark.usefixtures("minilm")
def test_many_documents_and_many_adds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """200,000 documents by words alone, then one document 2,000 times, with at most 256 descriptors."""
    lines = (json.dumps({"_id": str(i), "text": f"line {i} of {i % 977} and {i % 31}"}) for i in range(200_000))
    (tmp_path / "lines.jsonl").write_text("\n".join(lines))
    command = [str(Path(sys.executable).with_name("asterism")), "index", str(tmp_path / "lines.jsonl")]
    command += ["--to", str(tmp_path / "x.ast"), "--views", "lexical", "--terms", "words"]
    made = subprocess.run(command, capture_output=True, text=True, preexec_fn=limited)
    assert made.returncode == 0, made.stderr
    command = [sys.executable, "-c", GROW, str(tmp_path / "x.ast"), "2000"]
    grown = subprocess.run(command, capture_output=True, text=True, preexec_fn=limited)
    assert grown.returncode == 0, grown.stderr
    documents, most, segments = map(int, grown.stdout.split())
    with capsys.disabled():
        print(f"\n{documents} documents, at most {most} open files, {segments} segments")
    assert documents == 202_000
    assert most < MOST_OPEN


def test_a_full_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = TokenIndex.build(tmp_path / "x", make_vectors(50, 16))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(ArrayWriter, "write", full)
        for work in (lambda: index.add(make_vectors(3, 16)), lambda: TokenIndex.build(tmp_path / "y", make_vectors())):
            with pytest.raises(IndexFolderError, match=r"No space left on device.*make room"):
                work()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x"]
    assert len(list((tmp_path / "x").glob("segment-*"))) == 1
    assert len(index.add(make_vectors(3, 16))) == 53


def test_a_huge_k_allocates_for_the_documents_that_exist(tmp_path: Path) -> None:
    index = TokenIndex.build(tmp_path / "x", make_vectors(50, 16, shortest=1))
    found = index.search_many([make_query(16)] * 3, 2**31 - 1)
    assert found.ids.shape == found.scores.shape == (3, 50)
