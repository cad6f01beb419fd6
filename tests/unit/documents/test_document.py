"""What a document may be, and what the message says when it may not."""

from __future__ import annotations

import dataclasses
import datetime
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asterism.documents.document import Document, Query
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
        document.text = "b"


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
        Query("q", 1.5)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (None, "metadata is a NoneType, expected a dict"),
        ([("a", 1)], "metadata is a list, expected a dict"),
        (
            {"year": datetime.timedelta(1)},
            r"metadata\['year'\] is a timedelta, expected JSON \(a string, number, boolean, null, list or object\)",
        ),
        ({"a": {"b": [0, {1, 2}]}}, r"metadata\['a'\]\['b'\]\[1\] is a set"),
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


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"k" * 10_000_000: 1}, r"the key 'k+\.\.\. of metadata makes a field's full name of 10,000,000 characters"),
        (
            {"a": {"b" * 999: 1}},
            r"of metadata\['a'\] makes a field's full name of 1,001 characters, expected at most 1,000",
        ),
        ({"a": [[{"b": {"c" * 997: 1}}]]}, "a field's full name of 1,001 characters"),
        ({str(i): i for i in range(10_000)}, "metadata has more than 10,000 values, expected at most that"),
        ({"a": list(range(10_000))}, "metadata has more than 10,000 values"),
        ({"a": ["x" * 1_000_000] * 11}, "metadata has more than 10,000,000 characters"),
        ({"a": "x" * 10_000_000}, "metadata has more than 10,000,000 characters"),
    ],
    ids=["a key", "a nested key", "a key in lists", "fields", "elements", "strings", "a string"],
)
def test_metadata_have_a_largest_size(metadata: Any, message: str) -> None:
    with pytest.raises(DocumentError, match="^document 'a': .*" + message) as caught:
        Document("a", "", metadata=metadata)
    assert len(str(caught.value)) < 250


def test_metadata_of_the_largest_size() -> None:
    for metadata in (
        {"k" * 1000: 1},
        {"a": [{"b": {"c" * 996: 1}}]},
        {"a": list(range(9_998))},
        {"a": "x" * 9_999_999},
    ):
        assert Document("a", "", metadata=metadata).metadata == metadata


def test_metadata_that_hold_themselves_twice_are_refused_at_once() -> None:
    """Not after the 2 to the power of 100 places that they lead to."""
    circle: list[Any] = []
    circle += [circle, circle]
    with pytest.raises(DocumentError, match=r"more than (100 deep|10,000 values)"):
        Document("a", "", metadata={"circle": circle})
    twice: Any = "x"
    for _ in range(90):
        twice = [twice, twice]
    with pytest.raises(DocumentError, match="more than 10,000 values"):
        Document("a", "", metadata={"twice": twice})


def test_dates_and_numbers_of_numpy_become_json() -> None:
    day, moment = datetime.date(2020, 2, 29), datetime.datetime(2020, 2, 29, 12, 30, tzinfo=datetime.timezone.utc)
    given = {
        "day": day,
        "moment": moment,
        "hour": datetime.time(8, 15),
        "days": (np.datetime64("2020-02-29"), np.datetime64("NaT")),
        "numbers": [np.float32(0.5), np.int64(7), np.bool_(True), np.str_("a")],
        "array": np.array([[1, 2], [3, 4]]),
    }
    assert Document("a", "text", metadata=given).metadata == {
        "day": "2020-02-29",
        "moment": "2020-02-29T12:30:00+00:00",
        "hour": "08:15:00",
        "days": ["2020-02-29", None],
        "numbers": [0.5, 7, True, "a"],
        "array": [[1, 2], [3, 4]],
    }
    with pytest.raises(DocumentError, match="nan, expected a finite number"):
        Document("a", "text", metadata={"x": np.float64("nan")})
