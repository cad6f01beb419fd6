"""Names of files as text."""

from __future__ import annotations

import os

from hypothesis import given
from hypothesis import strategies as st

from asterism import Document
from asterism.documents.folders.names import escape_name, make_passage_id, make_stem, split_passage_id, unescape_name

NAMES = st.binary(min_size=1, max_size=40).filter(lambda name: b"\0" not in name).map(os.fsdecode)


@given(NAMES)
def test_a_name_can_be_had_back_and_makes_an_id(name: str) -> None:
    escaped = escape_name(name)
    assert unescape_name(escaped) == name
    escaped.encode()
    id = make_passage_id(escaped, 12)
    assert Document(id, "text").id == id
    assert split_passage_id(id) == (make_stem(escaped), 12)


def test_usual_names_stay() -> None:
    assert escape_name("früh/C# notes (2).md") == "früh/C# notes (2).md"
    assert escape_name("a\nb\udcff\\") == r"a\x0ab\xff\\"
    assert escape_name(" a\xa0") == r"\x20a\u00a0"


@given(st.lists(NAMES, min_size=2, max_size=2, unique=True))
def test_two_names_stay_two(names: list[str]) -> None:
    long = "x" * 500
    assert len({make_passage_id(escape_name(f"{long}/{name}/{long}"), 1) for name in names}) == 2


def test_long_names_are_shortened_in_the_middle() -> None:
    id = make_passage_id(f"notes/{'x' * 3000}/end.md", 10**9)
    assert len(id) <= 512
    assert (id[:6], id[-17:]) == ("notes/", "end.md#1000000000"[-17:])
    assert Document(id, "text").id == id


def test_an_id_without_a_number_is_its_own_stem() -> None:
    assert split_passage_id("a.md#1") == ("a.md", 1)
    assert split_passage_id("a.md#1#2") == ("a.md#1", 2)
    for id in ("a.md", "a#x", "#", "a#0", "a#01", "a#\u0663", "a#1\n"):
        assert split_passage_id(id) == (id, 0)
