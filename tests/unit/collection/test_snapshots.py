"""Readers see one committed state each, whatever the writer does meanwhile; there is one writer."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pytest

from asterism import TokenSearch, TokenVectors, Views
from asterism.collection import writer as collection_writer
from asterism.collection.catalog import Catalog, CatalogEdit
from asterism.collection.collection import Collection
from asterism.collection.snapshot import positions
from asterism.documents.document import Document
from asterism.errors import DamagedIndex, IndexBusy, IndexFolderError, UnknownDocument
from asterism.settings import TokenBuild
from asterism.storage import lock
from tests.conftest import make_query, tokens_only

D = 8
GROUP = 5
SECONDS = 3.0


def put(collection: Collection, group: int, update: bool = False) -> None:
    """Five documents that share a group, in one batch."""
    documents = [Document(f"{group}-{i}", "text", metadata={"group": group}) for i in range(GROUP)]
    vectors = TokenVectors(make_query(D, GROUP * 3, group), np.arange(GROUP + 1) * 3)
    with collection.writing() as writer:
        writer.add(documents, tokens_only(vectors), update)


def remove(collection: Collection, group: int) -> None:
    with collection.writing() as writer:
        writer.delete([f"{group}-{i}" for i in range(GROUP)])


def compact(collection: Collection) -> None:
    with collection.writing() as writer:
        writer.compact()


def found(collection: Collection, group: int | None = None, method: str = "exact") -> list[str]:
    where = None if group is None else {"group": group}
    hits = collection.search(make_query(D, 3), 1000, TokenSearch(method=method), where)
    return sorted(document.id for document, _ in hits.documents)


def ids_of(*groups: int) -> list[str]:
    return sorted(f"{group}-{i}" for group in groups for i in range(GROUP))


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    made = Collection.create(tmp_path / "x", Views(TokenBuild(threads=1)), {})
    put(made, 0)
    return made


@pytest.mark.parametrize(
    ("numbers", "wanted", "expected"),
    [
        ([], [], []),
        ([], [1, 2], []),
        ([3, 5, 9], [], []),
        ([3, 5, 9], [3, 5, 9], [0, 1, 2]),
        ([3, 5, 9], [9, 3], [2, 0]),
        ([3, 5, 9], [0, 4, 5, 6, 10], [1]),
        ([3, 5, 9], [5, 5], [1, 1]),
        ([-2, 2**62], [2**62, -2, 0], [1, 0]),
    ],
)
def test_positions(numbers: list[int], wanted: list[int], expected: list[int]) -> None:
    assert positions(np.array(numbers, np.int64), np.array(wanted, np.int64)).tolist() == expected


def test_a_reader_sees_each_committed_state(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Collection.open(collection.path)
    assert found(reader) == ids_of(0)
    put(collection, 1)
    assert found(reader) == [document.id for document in reader.documents()] == ids_of(0, 1)
    remove(collection, 0)
    assert found(reader) == ids_of(1)
    assert reader.known(["0-0", "1-1"]) == {"1-1"}
    with pytest.raises(UnknownDocument):
        reader.get(["0-0"])
    put(collection, 1, update=True)
    put(collection, 2)
    monkeypatch.setattr(collection_writer, "FLAT_TOKENS", 20)
    compact(collection)
    assert not reader.snapshot().codec.codec.is_flat
    for method in ("exact", "colbert", "xtr"):
        assert found(reader, method=method) == ids_of(1, 2)
        assert found(reader, 2, method) == ids_of(2)
    remove(collection, 1)
    remove(collection, 2)
    compact(collection)
    assert found(reader) == []
    assert reader.snapshot().multi is None
    put(collection, 3)
    assert found(reader) == ids_of(3)
    reader.check()


def test_a_snapshot_outlives_its_files(collection: Collection) -> None:
    put(collection, 1)
    old = collection.snapshot()
    query = make_query(D, 3)
    before = old.multi.search(query, 10, TokenSearch(), None)
    put(collection, 2)
    compact(collection)
    assert not (collection.path / old.segments[0].part.name).exists()
    after = old.multi.search(query, 10, TokenSearch(), None)
    np.testing.assert_array_equal(before.ids, after.ids)
    np.testing.assert_array_equal(before.scores, after.scores)


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


@pytest.mark.parametrize("work", [lambda of: put(of, 1), compact], ids=["add", "compact"])
def test_an_interruption_just_after_the_commit_loses_nothing(
    collection: Collection, work: Callable[[Collection], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where Ctrl-C lands most likely: the signal is handled when SQLite returns from the disk."""
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
    assert set(found(again)) >= set(ids_of(0, 2))


def test_a_search_while_another_thread_writes_is_consistent(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups of five come and go as wholes; the codec is trained, merged and trained again meanwhile."""
    for name, value in {"FLAT_TOKENS": 60, "MOST_SEGMENTS": 3, "OUTGROWN": 2}.items():
        monkeypatch.setattr(collection_writer, name, value)
    end = time.monotonic() + SECONDS
    errors: list[BaseException] = []
    searches = 0

    def guarded(work: Callable[[], None]) -> None:
        try:
            while time.monotonic() < end and not errors:
                work()
        except BaseException as error:
            errors.append(error)
            raise

    rng = np.random.default_rng(0)
    there = {0}

    def write() -> None:
        group = int(rng.integers(12))
        if group not in there:
            put(collection, group)
            there.add(group)
        elif rng.random() < 0.5:
            put(collection, group, update=True)
        else:
            remove(collection, group)
            there.remove(group)
        if rng.random() < 0.4:
            with collection.writing() as writer:
                writer.settle()
        if rng.random() < 0.2:
            compact(collection)

    def reading(reader: Collection, method: str) -> Callable[[], None]:
        def read() -> None:
            nonlocal searches
            group = searches % 12
            assert found(reader, group, method) in ([], ids_of(group))
            everything = found(reader, None, method)
            groups = {int(id.split("-")[0]) for id in everything}
            assert everything == ids_of(*groups)
            searches += 1

        return read

    other = Collection.open(collection.path)
    readers = [reading(collection, "colbert"), reading(other, "exact"), reading(other, "xtr")]
    threads = [threading.Thread(target=guarded, args=(work,)) for work in (write, *readers)]
    hook = threading.excepthook
    threading.excepthook = lambda _: None
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        threading.excepthook = hook
    assert errors == []
    assert searches > 20
    assert found(other) == found(collection) == ids_of(*there)
    other.check()


def test_checking_while_another_writes_finds_no_damage(collection: Collection) -> None:
    reader = Collection.open(collection.path)
    done = threading.Event()
    errors: list[BaseException] = []

    def checking() -> None:
        try:
            while not done.is_set():
                reader.check()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=checking)
    thread.start()
    for group in range(1, 25):
        put(collection, group)
    done.set()
    thread.join()
    assert errors == []


def test_documents_can_be_used_while_they_are_listed(collection: Collection) -> None:
    put(collection, 1)
    for document in collection.documents():
        assert collection.get([document.id]) == [document]
        assert document.id in found(collection)
    listed = collection.documents()
    next(listed)
    remove(collection, 1)  # a listing that is not read on blocks nobody


def test_a_second_writer_of_another_thread_is_refused(collection: Collection) -> None:
    caught: list[BaseException] = []

    def second() -> None:
        try:
            put(Collection.open(collection.path), 1)
        except IndexBusy as error:
            caught.append(error)

    with collection.writing() as writer:
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
        with pytest.raises(IndexBusy, match="is being written"):
            put(collection, 1)
        assert writer.delete(["0-0"]) == 1
    assert len(caught) == 1
    assert "is being written" in str(caught[0])
    put(collection, 1)
    assert len(found(collection)) == 9


def test_a_second_writer_of_another_process_is_refused(collection: Collection) -> None:
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


def test_a_missing_catalog_is_damage(collection: Collection) -> None:
    collection.close()
    (collection.path / "catalog.sqlite").unlink()
    with pytest.raises(DamagedIndex, match="is missing"):
        Collection.open(collection.path)


def test_collections_leave_no_descriptor_behind(tmp_path: Path) -> None:
    gc.collect()
    before = set(os.listdir("/proc/self/fd"))
    made = Collection.create(tmp_path / "x", Views(TokenBuild(threads=1)), {})
    put(made, 0)
    others = [Collection.open(tmp_path / "x") for _ in range(3)]
    assert all(found(other) == ids_of(0) for other in others)
    for one in (made, *others):
        one.close()
        one.close()
    del one, others, made
    gc.collect()
    assert set(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    "use",
    [
        lambda of: of.search(make_query(D, 3), 1, TokenSearch()),
        lambda of: of.get(["0-0"]),
        lambda of: of.known(["0-0"]),
        lambda of: list(of.documents()),
        lambda of: of.snapshot(),
        lambda of: of.check(),
        lambda of: of.bytes(),
        lambda of: of.facts("settings"),
        lambda of: of.looking_at("0-0", lambda state, at, subset: at),
        lambda of: put(of, 1),
        lambda of: of.put_fact("job", {}),
    ],
    ids=["search", "get", "known", "documents", "snapshot", "check", "bytes", "facts", "looking_at", "add", "put_fact"],
)
def test_a_closed_collection_says_so(collection: Collection, use: Callable[[Collection], object]) -> None:
    collection.close()
    with pytest.raises(IndexFolderError, match="was closed: open it again"):
        use(collection)
    assert found(Collection.open(collection.path)) == ids_of(0)


def test_closing_one_collection_leaves_the_locks_of_another(collection: Collection) -> None:
    """SQLite's locks go when any descriptor of the file is closed: a reader's must not."""
    other = Collection.open(collection.path)
    committed: list[bool] = []
    with other.reading() as view:
        view.state()
        Collection.open(collection.path).close()
        writer = threading.Thread(target=lambda: (put(collection, 1), committed.append(True)))
        writer.start()
        writer.join(0.5)
        assert not committed
        assert view.state().documents == GROUP
    writer.join()
    assert committed
    assert found(other) == ids_of(0, 1)


def test_a_writer_waits_for_another_for_a_moment(collection: Collection) -> None:
    with ExitStack() as first, ThreadPoolExecutor(1) as pool:
        first.enter_context(lock.writing(collection.path))
        late = pool.submit(put, collection, 1)
        time.sleep(0.1)
        assert not late.done()
        first.close()
        late.result()
    assert found(collection) == ids_of(0, 1)


@pytest.mark.parametrize("kind", ["reading", "writing"])
def test_a_transaction_that_ends_after_its_connection_says_nothing(collection: Collection, kind: str) -> None:
    """Ctrl-C between taking a transaction and using it leaves its end to the garbage collector."""
    transaction = getattr(collection._catalog, kind)()
    transaction.__enter__()
    collection.close()
    assert not transaction.__exit__(GeneratorExit, GeneratorExit(), None)
