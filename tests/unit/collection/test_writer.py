"""One writer at a time; its batches are committed whole or not at all."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from asterism.collection import collection as collection_module
from asterism.collection.catalog import Catalog, CatalogEdit
from asterism.collection.collection import Collection
from asterism.documents.document import Document
from asterism.errors import IndexBusy, IndexFolderError
from asterism.storage import lock
from tests.conftest import make_vectors, tokens_only
from tests.unit.collection.groups import D, compact, found, ids_of, put
from tests.unit.storage.parking import LONG, parked


def test_nothing_of_an_unfinished_batch_is_seen(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Collection.open(collection.path)

    def interrupted(self: CatalogEdit, *_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(CatalogEdit, "put_state", interrupted)
        with pytest.raises(KeyboardInterrupt):
            put(collection, 1)
    assert found(reader) == found(collection) == ids_of(0)
    collection.check()
    assert len(list(collection.path.glob("segment-*"))) == 1
    put(collection, 1)
    assert found(reader) == ids_of(0, 1)


@pytest.mark.parametrize(
    ("work", "after"), [(lambda of: put(of, 1), ids_of(0, 1, 2)), (compact, ids_of(0, 2))], ids=["add", "compact"]
)
def test_an_interruption_just_after_the_commit_loses_nothing(
    collection: Collection, work: Callable[[Collection], None], after: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The most likely moment of Ctrl-C: the signal is handled when SQLite returns from the disk."""
    put(collection, 2)
    commit = Catalog.writing

    @contextmanager
    def interrupted(self: Catalog) -> Iterator[CatalogEdit]:
        with commit(self) as edit:
            yield edit
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Catalog, "writing", interrupted)
        with pytest.raises(KeyboardInterrupt):
            work(collection)
    again = Collection.open(collection.path)
    again.check()
    assert found(again) == after


def test_a_second_writer_of_this_process_is_refused(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the same collection or another one, in this thread or another one; the first writer goes on."""
    monkeypatch.setattr(collection_module, "PATIENCE", 0)
    other = Collection.open(collection.path)
    with collection.writing() as writer, ThreadPoolExecutor(1) as pool:
        for second in (collection, other):
            with pytest.raises(IndexBusy, match="is being written"):
                put(second, 1)
            with pytest.raises(IndexBusy, match="is being written"):
                pool.submit(put, second, 1).result()
        assert writer.delete(["0-0"]) == 1
    put(other, 1)
    assert len(found(collection)) == 9


def test_a_second_writer_of_another_process_is_refused(collection: Collection) -> None:
    """It can read meanwhile."""
    script = (
        "import sys\n"
        "from asterism.errors import IndexBusy\n"
        "from asterism.collection.collection import Collection\n"
        "collection = Collection.open(sys.argv[1])\n"
        "print(len(list(collection.documents())))\n"
        "try:\n"
        "    with collection.writing() as writer:\n"
        "        print(writer.delete(['0-0']))\n"
        "except IndexBusy as error:\n"
        "    print(error)\n"
    )

    def other() -> list[str]:
        command = [sys.executable, "-c", script, str(collection.path)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()

    with collection.writing():
        count, message = other()
    assert count == "5"
    assert "is being written by another process" in message
    assert other() == ["5", "1"]
    assert len(found(collection)) == 4


def test_a_writer_waits_for_another_for_a_moment(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection_module, "PATIENCE", LONG)
    with ThreadPoolExecutor(1) as pool, parked(monkeypatch) as waiting, lock.hold_writer_lock(collection.path):
        late = pool.submit(put, collection, 1)
        assert waiting.wait(LONG)
        assert not late.done()
    late.result()
    assert found(collection) == ids_of(0, 1)


def test_adding_opens_nothing_that_was_just_written(collection: Collection) -> None:
    """A write costs what it writes: the new state is opened by the next reader."""
    before = collection.snapshot()
    with collection.writing() as writer:
        for group in (1, 2):
            documents = [Document(f"{group}-{i}", "text") for i in range(2)]
            writer.add(documents, tokens_only(make_vectors(2, D, seed=group, shortest=1)))
        assert collection._snapshot is before
    assert len(collection.snapshot().segments) == len(before.segments) + 2


def test_deleting_between_two_additions(collection: Collection) -> None:
    """Within one writer: the state that the second builds on knows what was deleted."""
    with collection.writing() as writer:
        writer.add([Document("a", "text")], tokens_only(make_vectors(1, D, shortest=1)))
        writer.delete(["a", "0-0"])
        writer.add([Document("a", "again")], tokens_only(make_vectors(1, D, seed=5, shortest=1)))
        writer.settle()
    reader = Collection.open(collection.path)
    assert sorted(document.id for document in reader.documents()) == ["0-1", "0-2", "0-3", "0-4", "a"]
    reader.check()


def test_a_commit_that_reports_an_error_although_it_went_through(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next write of the same writer builds on what is stored, not on what it believes."""
    committed = Catalog.writing

    @contextmanager
    def fails_after_the_commit(self: Catalog) -> Iterator[CatalogEdit]:
        with committed(self) as edit:
            yield edit
        raise IndexFolderError("disk I/O error")

    with collection.writing() as writer:
        writer.add([Document("a", "text")], tokens_only(make_vectors(1, D, shortest=1)))
        for change in (
            lambda: writer.delete(["0-1"]),
            lambda: writer.add([Document("b", "text")], tokens_only(make_vectors(1, D, seed=2, shortest=1))),
            writer.compact,
        ):
            with monkeypatch.context() as patch:
                patch.setattr(Catalog, "writing", fails_after_the_commit)
                with pytest.raises(IndexFolderError, match="disk I/O"):
                    change()
        writer.add([Document("c", "text")], tokens_only(make_vectors(1, D, seed=3, shortest=1)))
    reader = Collection.open(collection.path)
    reader.check()
    assert sorted(document.id for document in reader.documents()) == ["0-0", "0-2", "0-3", "0-4", "a", "b", "c"]


def test_a_writer_that_is_kept_too_long_is_refused(collection: Collection) -> None:
    with collection.writing() as writer:
        pass
    with collection.writing() as other:
        other.delete(["0-1"])
    with pytest.raises(IndexFolderError, match="has changed since its state was read"):
        writer.add([Document("c", "text")], tokens_only(make_vectors(1, D, seed=3, shortest=1)))
    collection.check()
    assert len(list(collection.documents())) == 4


def test_documents_that_went_after_they_were_admitted(collection: Collection) -> None:
    with collection.writing() as writer:
        documents = [Document("0-0", "again")]
        admitted = writer.admit(documents, True)
        writer.delete(["0-0"])
        writer.compact()
        with pytest.raises(IndexFolderError, match="gone already"):
            writer.add_admitted(admitted, tokens_only(make_vectors(1, D, shortest=1)))
    collection.check()
    assert len(list(collection.documents())) == 4
