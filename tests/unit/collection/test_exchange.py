"""One commit that deletes documents, adds others and stores facts."""

from __future__ import annotations

from pathlib import Path

import pytest

from asterism import Collection, Document, Views
from asterism.errors import DocumentError, VectorsError
from asterism.representations import Representations
from asterism.terms.counting import count_words

WORDS = Views(None, False, "words")


def encode(documents: list[Document]) -> Representations:
    return Representations(len(documents), lexical=count_words([document.text for document in documents]))


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return Collection.create(tmp_path / "x.ast", WORDS, {})


def test_everything_in_one_commit(collection: Collection) -> None:
    old, new = [Document("a", "one"), Document("b", "two")], [Document("a", "three")]
    with collection.writing() as writer:
        writer.exchange([], old, encode(old), {"file:x": {"n": 1}, "file:y": {"n": 2}, "other": {"n": 3}})
        before = collection.snapshot().state.generation
        writer.exchange(["a", "b", "missing"], new, encode(new), {"file:x": {"n": 4}, "file:y": None})
    assert collection.snapshot().state.generation == before + 1
    assert [(document.id, document.text) for document in collection.documents()] == [("a", "three")]
    with collection.reading() as reader:
        assert list(reader.iterate_facts("file:")) == [("file:x", {"n": 4})]
        assert list(reader.iterate_ids("a")) == ["a"]
    collection.check()


def test_facts_alone_leave_the_state(collection: Collection) -> None:
    before = collection.snapshot().state
    with collection.writing() as writer:
        writer.exchange([], [], Representations(0), {"file:x": {"n": 1}})
        assert writer.state == before
    assert collection.snapshot().state == before
    assert collection.facts("file:x") == {"n": 1}


def test_an_id_that_is_not_removed_is_an_error(collection: Collection) -> None:
    one = [Document("a", "one")]
    with collection.writing() as writer:
        writer.exchange([], one, encode(one), {})
        with pytest.raises(DocumentError, match="another document with the id 'a'"):
            writer.exchange(["b"], one, encode(one), {"file:x": {"n": 1}})
        with pytest.raises(VectorsError, match="expected as many"):
            writer.exchange([], one, Representations(0), {})
    assert collection.facts("file:x") == {}
    collection.check()
