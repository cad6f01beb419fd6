"""Readers beside a writer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from asterism import AddCounts, Document, Retriever
from asterism.collection import collection
from asterism.errors import IndexBusy, SettingError
from tests.unit.retriever.documents import FEW, Put


def test_a_reader_sees_what_another_wrote(put: Put) -> None:
    writer = put(FEW[:2])
    with Retriever.open(writer.path) as reader:
        assert sorted(reader.search("fox", 9).ids) == ["fox", "light"]
        writer.add(FEW[2:])
        assert (len(reader.search("fox", 9)), len(reader)) == (3, 4)  # one has no words
        writer.delete(["fox"])
        writer.compact()
        assert sorted(reader.search("fox", 9).ids) == ["light", "python"]
        reader.delete(["light"])
        assert "light" not in writer


def test_add_keeps_other_writers_out_until_its_last_document(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection, "PATIENCE", 0)
    writer = put([])
    with Retriever.open(writer.path) as second:

        def documents() -> Iterator[Document]:
            yield FEW[0]
            for attempt in (
                lambda: second.add(FEW[1:]),
                lambda: second.delete([], missing_ok=True),
                second.compact,
                lambda: writer.add(FEW[1:]),
            ):
                with pytest.raises(IndexBusy, match="is being written"):
                    attempt()
            assert second.search("fox").ids == []
            with Retriever.open(writer.path) as third:
                assert len(third) == 0

        writer.add(documents())
        assert second.search("fox").ids == ["fox"]
        second.add(FEW[1:])


def test_counts_are_true_beside_another_writer(put: Put) -> None:
    """Each counts what it did itself."""
    made = put(FEW[:2])

    def documents() -> Iterator[Document]:
        yield Document("fox", "another fox")
        yield Document("new", "a new one")

    with Retriever.open(made.path) as other:
        before = other.add_and_count([Document("late", "came first"), Document("fox", "again")], update=True)
        counts = made.add_and_count(documents(), update=True)
        after = other.add_and_count([Document("new", "once more"), Document("last", "the last")], update=True)
    assert (before, counts, after) == (AddCounts(1, 1), AddCounts(1, 1), AddCounts(1, 1))
    assert len(made) == 5


def test_an_add_waits_for_another_writer(put: Put) -> None:
    made = put(FEW[:1])
    begun, ended = threading.Event(), threading.Event()

    def slow() -> Iterator[Document]:
        begun.set()
        assert ended.wait(20)
        yield FEW[1]

    with Retriever.open(made.path) as other, ThreadPoolExecutor(2) as team:
        first = team.submit(other.add, slow())
        assert begun.wait(20)
        with pytest.raises(IndexBusy, match="--wait"):
            made.add(FEW[2:], wait=0)
        second = team.submit(made.add, FEW[2:], wait=30)
        ended.set()
        assert (first.result(), second.result()) == (1, 2)
    with pytest.raises(SettingError, match="wait is -1"):
        made.add([], wait=-1)
