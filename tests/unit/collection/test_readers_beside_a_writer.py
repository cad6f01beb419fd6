"""Searches, checks and listings while another thread writes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from asterism.collection import collection as collection_module
from asterism.collection import writer as collection_writer
from asterism.collection.catalog import CatalogReader
from asterism.collection.collection import Collection
from asterism.errors import IndexBusy
from tests.unit.collection.groups import compact, found, ids_of, put, remove

SECONDS = 3.0


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


def test_a_check_refuses_writers_and_leaves_readers_alone(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Collection.open(collection.path)
    check, looks = CatalogReader.check, []

    def look(catalog: CatalogReader) -> None:
        looks.append(other.get(["0-0"]))
        with pytest.raises(IndexBusy), other.writing():
            pass
        check(catalog)

    monkeypatch.setattr(collection_module, "PATIENCE", 0)
    monkeypatch.setattr(CatalogReader, "check", look)
    collection.check()
    assert len(looks) == 1


def test_documents_can_be_used_while_they_are_listed(collection: Collection) -> None:
    put(collection, 1)
    for document in collection.documents():
        assert collection.get([document.id]) == [document]
        assert document.id in found(collection)
    listed = collection.documents()
    next(listed)
    remove(collection, 1)  # a listing that is not read on blocks nobody
