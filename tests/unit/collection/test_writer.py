"""One writer at a time; its batches are committed whole or not at all."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest

from asterism.collection.catalog import Catalog, CatalogEdit
from asterism.collection.collection import Collection
from asterism.errors import IndexBusy
from asterism.storage import lock
from tests.unit.collection.groups import compact, found, ids_of, put


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


def test_a_writer_waits_for_another_for_a_moment(collection: Collection) -> None:
    with ExitStack() as first, ThreadPoolExecutor(1) as pool:
        first.enter_context(lock.writing(collection.path))
        late = pool.submit(put, collection, 1)
        time.sleep(0.1)
        assert not late.done()
        first.close()
        late.result()
    assert found(collection) == ids_of(0, 1)
