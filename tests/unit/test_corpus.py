"""What a document may be, and what the message says when it may not."""

from __future__ import annotations

import dataclasses
import datetime
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asterism.corpus import Document, Query
from asterism.errors import DocumentError, InputError

UNICODE = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | UNICODE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(UNICODE, inner, max_size=3),
    max_leaves=8,
)


def test_defaults() -> None:
    document = Document("a", "text")
    assert (document.title, document.metadata, document.full_text) == ("", {}, "text")
    assert [field.name for field in dataclasses.fields(Document)] == ["id", "text", "title", "metadata"]
    assert Document("a", "text", "Title").full_text == "Title text"
    assert len({document, Document("a", "text")}) == 1


def test_frozen_and_its_own_copy() -> None:
    years = [1999]
    document = Document("a", "", metadata={"years": years})
    years.append(2000)
    assert document.metadata == {"years": [1999]}
    with pytest.raises(dataclasses.FrozenInstanceError):
        document.text = "b"  # type: ignore[misc]


@settings(deadline=None)
@given(UNICODE, UNICODE, st.dictionaries(UNICODE, JSON, max_size=4))
def test_all_unicode_and_all_json(text: str, title: str, metadata: dict[str, Any]) -> None:
    document = Document("a", text, title, metadata)
    assert document.metadata == metadata == json.loads(json.dumps(document.metadata))


@pytest.mark.parametrize("id", ["a", "0", "a b", "früh#1", "学", "x" * 512, "😀", "a/b.txt#3"])
def test_ids(id: str) -> None:
    assert Document(id, "").id == id
    assert Query(id, "").id == id


@pytest.mark.parametrize(
    ("id", "message"),
    [
        ("", "document '': the id is empty"),
        (7, r"id of a document is 7 \(an int\), expected a string"),
        (None, "NoneType"),
        (b"a", "a bytes"),
        ("a\nb", r"control character '\\n'"),
        ("a\tb", r"control character '\\t'"),
        ("a\0", r"control character '\\x00'"),
        ("a\x7f", "control character"),
        (" a", "white space"),
        ("a\u3000", "white space"),
        ("x" * 513, "513 characters, expected at most 512"),
        ("\ud800", "surrogate"),
    ],
)
def test_bad_ids(id: Any, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        Document(id, "")
    with pytest.raises(DocumentError, match=message.replace("document", "query")):
        Query(id, "")


def test_the_id_is_shortened() -> None:
    with pytest.raises(DocumentError) as caught:
        Document("x" * 400, "\0")
    assert str(caught.value) == f"document '{'x' * 56}...: text has a NUL at character 0, expected none: remove it"


@pytest.mark.parametrize("place", ["text", "title"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "is a NoneType, expected a string"),
        (b"text", "is a bytes"),
        ("ab\0", "has a NUL at character 2"),
        ("a\udc80", r"has half a surrogate pair, '\\udc80', at character 1"),
    ],
)
def test_bad_texts(place: str, value: Any, message: str) -> None:
    with pytest.raises(DocumentError, match=f"^document 'a': {place} {message}"):
        Document(**{"id": "a", "text": "", place: value})


def test_bad_query() -> None:
    with pytest.raises(DocumentError, match="query 'q': text is a float"):
        Query("q", 1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (None, "metadata is a NoneType, expected a dict"),
        ([("a", 1)], "metadata is a list, expected a dict"),
        (
            {"year": datetime.datetime(2020, 1, 1)},
            r"metadata\['year'\] is a datetime, expected JSON \(a string, number, boolean, null, list or object\)",
        ),
        ({"a": {"b": [0, (1, 2)]}}, r"metadata\['a'\]\['b'\]\[1\] is a tuple"),
        ({"a": {1, 2}}, r"metadata\['a'\] is a set"),
        ({1: "a"}, r"metadata has the key 1 \(an int\), expected a string"),
        ({"a": {None: 1}}, r"metadata\['a'\] has the key None"),
        ({"a\0": 1}, r"the key 'a\\x00' of metadata has a NUL"),
        ({"\ud800": 1}, r"the key '\\ud800' of metadata has half a surrogate"),
        ({"a": "\ud800"}, r"metadata\['a'\] has half a surrogate"),
        ({"a": float("nan")}, r"metadata\['a'\] is nan, expected a finite number"),
        ({"a": [-float("inf")]}, r"metadata\['a'\]\[0\] is -inf"),
        ({"a": 2**63}, r"metadata\['a'\] is an integer beyond 64 bits"),
        ({"a": -(2**63) - 1}, r"metadata\['a'\] is an integer beyond 64 bits"),
    ],
)
def test_bad_metadata(metadata: Any, message: str) -> None:
    with pytest.raises(DocumentError, match="^document 'a': " + message):
        Document("a", "", metadata=metadata)


def test_nesting() -> None:
    circle: dict[str, Any] = {}
    circle["itself"] = circle
    with pytest.raises(InputError, match="more than 100 deep"):
        Document("a", "", metadata=circle)
    deep: Any = 1
    for _ in range(99):
        deep = [deep]
    assert Document("a", "", metadata={"deep": deep}).metadata == {"deep": deep}
