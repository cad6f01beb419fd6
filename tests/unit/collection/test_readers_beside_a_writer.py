"""Searches, checks and listings while another thread writes."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from asterism.collection import collection as collection_module
from asterism.collection.catalog_reader import CatalogReader
from asterism.collection.collection import Collection
from asterism.collection.policy import Policy
from asterism.errors import IndexBusy
from tests.unit.collection.groups import compact, found, ids_of, put, remove

CHANGES = 20


def test_a_search_while_another_thread_writes_is_consistent(collection: Collection) -> None:
    """Groups of five are added and deleted as wholes; meanwhile segments are merged and the codec is trained again."""
    collection.policy = Policy(flat_tokens=60, most_segments=3, outgrown=2)
    rng = np.random.default_rng(0)
    there, codecs = {0}, set()

    def change() -> None:
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
        codecs.add(collection.snapshot().state.codec)

    def read(reader: Collection, method: str) -> int:
        """The number of looks; the first one is before the first change."""
        looks = 0
        while not written.is_set():
            group = looks % 12
            assert found(reader, group, method) in ([], ids_of(group))
            everything = found(reader, None, method)
            groups = {int(id.split("-")[0]) for id in everything}
            assert everything == ids_of(*groups)
            looks += 1
            if looks == 1:
                started.wait()
        return looks

    other = Collection.open(collection.path)
    searches = [(collection, "colbert"), (other, "exact"), (other, "xtr")]
    started, written = threading.Barrier(1 + len(searches), timeout=60), threading.Event()
    with ThreadPoolExecutor(len(searches)) as pool:
        readers = [pool.submit(read, *search) for search in searches]
        try:
            started.wait()
            for _ in range(CHANGES):
                change()
        finally:
            written.set()
        assert sum(reader.result() for reader in readers) > len(readers)
    assert len(codecs) > 2
    assert found(other) == found(collection) == ids_of(*there)
    other.check()


def test_checking_while_another_writes_finds_no_damage(collection: Collection) -> None:
    reader = Collection.open(collection.path)
    started, written = threading.Event(), threading.Event()

    def check() -> None:
        while not written.is_set():
            reader.check()
            started.set()

    with ThreadPoolExecutor(1) as pool:
        checks = pool.submit(check)
        try:
            assert started.wait(60)
            for group in range(1, 25):
                put(collection, group)
        finally:
            written.set()
        checks.result()


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
    remove(collection, 1)  # an unfinished listing blocks no writer
