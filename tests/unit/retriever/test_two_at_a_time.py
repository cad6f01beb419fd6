"""Readers beside a writer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from asterism import Document, Retriever
from asterism.collection import collection
from asterism.errors import IndexBusy
from tests.unit.retriever.documents import FEW, Put


def test_a_reader_sees_what_another_wrote(put: Put) -> None:
    writer = put(FEW[:2])
    with Retriever.open(writer.path) as reader:
        assert sorted(reader.search("fox", 9).ids) == ["fox", "light"]
        writer.add(FEW[2:])
        assert len(reader.search("fox", 9)) == len(reader) == 4
        writer.delete(["fox"])
        writer.compact()
        assert sorted(reader.search("fox", 9).ids) == ["empty", "light", "python"]
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
