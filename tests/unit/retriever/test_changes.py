"""Add, update, delete, get; compact, check, info."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asterism import Document, Retriever
from asterism.collection.policy import Policy
from asterism.errors import (
    DamagedIndex,
    DocumentError,
    FilterError,
    InputError,
    UnknownDocument,
)
from tests.unit.retriever.documents import FEW, QUERIES, Put, words


def test_documents_come_back_as_they_were(put: Put) -> None:
    odd = Document("ünï#code 東京", "a\r\n\tb \U0001f98a", "t", {"list": [1, {"x": None}], "half": 0.5, "yes": True})
    made = put([*FEW, odd])
    assert made.get(odd.id) == odd
    assert odd.id in made
    assert "other" not in made
    assert 5 not in made
    assert "\ud800" not in made
    with pytest.raises(UnknownDocument, match="'other'"):
        made.get("other")


def test_add_takes_generators_and_reports_progress(put: Put) -> None:
    made, told = put([], policy=Policy(batch_documents=3)), []
    assert made.add((document for document in words(8)), progress=told.append) == 8
    assert told == [3, 6, 8]
    assert len(made) == 8
    assert made.add([]) == made.add(iter(())) == 0


def test_long_documents_make_small_batches(put: Put) -> None:
    told: list[int] = []
    put([], policy=Policy(batch_characters=100)).add(
        [Document(f"{i}", "fox " * 20) for i in range(4)], progress=told.append
    )
    assert told == [2, 4]


def not_a_document() -> Any:
    return {"_id": "bad", "text": "a dict"}


def bad_document() -> Any:
    return Document("bad\n", "an id with a newline")


def unreadable_document() -> Any:
    return Path("/nowhere/at/all").read_text()


@pytest.mark.parametrize("bad", [not_a_document, bad_document, unreadable_document])
def test_a_batch_is_added_whole_or_not_at_all(put: Put, bad: Callable[[], Any]) -> None:
    made, given = put([], policy=Policy(batch_documents=2)), words(6)

    def documents() -> Iterator[Document]:
        yield from given[:3]
        yield bad()
        yield from given[3:]

    with pytest.raises(DocumentError):
        made.add(documents())
    assert list(made) == given[:2]
    made.check()
    assert made.add(made.missing(given)) == 4
    assert list(made) == given


def test_an_error_of_the_generator_propagates(put: Put) -> None:
    def documents() -> Iterator[Document]:
        yield FEW[0]
        raise RuntimeError("mine")

    made = put([])
    with pytest.raises(RuntimeError, match="mine"):
        made.add(documents())
    assert len(made) == 0


def test_an_existing_id_is_an_error(put: Put) -> None:
    made = put()
    with pytest.raises(DocumentError, match=r"'fox' already: pass update=True \(--update\)"):
        made.add([Document("new", "new"), Document("fox", "other")])
    assert list(made) == FEW


@pytest.mark.parametrize("update", [False, True])
def test_an_id_given_twice_is_an_error(put: Put, update: bool) -> None:
    made = put()
    with pytest.raises(DocumentError, match="'a' was given twice"):
        made.add([Document("a", "1"), Document("b", "2"), Document("a", "3")], update=update)
    assert list(made) == FEW


def test_update_replaces(put: Put) -> None:
    made = put()
    new = [Document("fox", "read and write a file", metadata={"year": 1}), Document("more", "more")]
    assert made.update(new) == 2
    assert list(made) == [*FEW[1:], *new]
    ranking = made.search("read and write a file", 1, filter={"year": 1})
    assert ranking[0].document == new[0]
    assert made.search("fox", filter={"year": 1999}).ids == []


def test_delete(put: Put) -> None:
    made = put()
    with pytest.raises(UnknownDocument, match="'no': nothing was deleted"):
        made.delete(["fox", "no"])
    assert len(made) == 4
    assert made.delete(["fox", "no", "fox"], missing_ok=True) == 1
    assert made.delete(id for id in ("light", "python")) == 2
    assert (len(made), made.search("fox", 4).ids) == (1, [])  # the one that is left has no words
    assert made.delete([]) == 0
    made.add(FEW[:1])
    assert made.search("fox", 4).ids == ["fox"]


def test_several_documents_by_their_ids(put: Put) -> None:
    made = put()
    assert made.get_many(["light", "fox"]) == [FEW[1], FEW[0]]
    assert made.get_many((id for id in ("no", "light", "light")), missing_ok=True) == [FEW[1], FEW[1]]
    assert made.get_many([]) == []
    with pytest.raises(UnknownDocument, match="'no'"):
        made.get_many(["fox", "no"])
    with pytest.raises(InputError, match="expected a list of ids"):
        made.get_many("fox")


def test_documents_that_match_a_filter(put: Put) -> None:
    made = put()
    assert made.list() == FEW
    assert made.list(filter={"lang": "en"}) == FEW[:2]
    assert made.list(filter={"year": {"$gt": 2000}}) == FEW[1:3]
    made.delete(["light"])
    assert made.list(filter={"lang": "en"}) == FEW[:1]
    for document in made.list(filter={"lang": "en"}):
        made.delete([document.id])
    assert made.list(filter={"lang": "en"}) == []
    with pytest.raises(FilterError):
        made.list(filter={"lang": {"$is": 1}})


def test_missing_resumes_an_interrupted_add(put: Put) -> None:
    made = put(FEW[:2])
    assert list(made.missing(FEW)) == FEW[2:]
    assert made.add(made.missing(FEW)) == 2
    assert list(made.missing(iter(FEW))) == []


def test_missing_or_changed(put: Put) -> None:
    made = put(FEW)
    changed = [replace(FEW[0], text="another text"), *FEW[1:], Document("new", "a new one")]
    assert list(made.missing(changed)) == changed[-1:]
    assert list(made.missing(changed, changed=True)) == [changed[0], changed[-1]]
    made.update(made.missing(changed, changed=True))
    assert list(made.missing(changed, changed=True)) == []


def test_iterating_does_not_hold_the_index(put: Put) -> None:
    made = put()
    with closing(iter(made)) as documents:
        for document in documents:
            assert made.get(document.id) == document
            made.delete([document.id])
    assert len(made) == 0


@pytest.mark.parametrize("filter", [None, {"n": {"$gte": 0}}])
@pytest.mark.parametrize("step", [1, 256, 300, 599])
def test_documents_that_change_while_they_are_read_come_once(
    put: Put, step: int, filter: dict[str, Any] | None
) -> None:
    """A change gives a document another number, so that it is not found where it was."""
    made = put([], views=["lexical"])
    made.add(Document(f"d{i}", f"text {i}", metadata={"n": i}) for i in range(600))
    found = []
    for number, document in enumerate(made.collection.documents(filter), 1):
        found.append(document.id)
        if number == step:
            made.set_metadata({"seen": True}, filter={"n": {"$lt": 500}})
            made.update([Document("d599", "no number any more"), Document("new", "new", metadata={"n": 1})])
            made.delete(["d598"])
            made.compact()
        if number == 400 and step != 599:
            made.set_metadata({"again": True}, filter={"n": {"$gte": 300}})
    expected = {f"d{i}" for i in range(600)} - ({"d598"} if step <= 512 else set())
    expected -= {"d599"} if filter and step <= 512 else set()
    assert sorted(found) == sorted(expected)


def test_compact_drops_deleted_documents_and_changes_no_answer(put: Put) -> None:
    made = put(words(40))
    made.add([Document("late", "late")])
    made.delete([f"d{i}" for i in range(15)])
    before = made.search_many(QUERIES, 30, method="colbert")
    assert made.info()["deleted"] == 15
    made.compact()
    info = made.info()
    assert (info["documents"], info["deleted"], info["segments"]) == (26, 0, 1)
    assert made.search_many(QUERIES, 30, method="colbert") == before
    made.check()


def test_info(put: Put) -> None:
    made = put()
    info = made.info()
    files = [file for file in made.path.rglob("*") if file.suffix in (".npy", ".sqlite")]
    assert info["bytes"] == sum(file.stat().st_size for file in files)
    assert (info["documents"], info["segments"], info["storage"]) == (4, 1, "floats, searched exactly")
    assert put([], "empty.ast").info()["dimensions"] == 16


def test_check_finds_damage(put: Put) -> None:
    made = put()
    made.check()
    made.close()
    file = next(made.path.rglob("codes.npy"))
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with Retriever.open(made.path) as opened, pytest.raises(DamagedIndex, match=r"codes\.npy"):
        opened.check()
