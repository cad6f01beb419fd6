"""Records whose text or title is not a plain string: nothing that they say is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from asterism.documents.files.chunking import Chunking
from asterism.documents.files.passages import Passage
from asterism.documents.files.reading import read_file


def read_record(record: Any) -> Passage:
    (passage,) = read_file("a.jsonl", json.dumps(record).encode(), Chunking()).passages
    return passage


TELEGRAM = ["See ", {"type": "link", "text": "walrus.org"}, " and ", {"type": "bold", "text": "wait"}, "."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (["walrus one", "two"], "walrus one\ntwo"),
        (["walrus", 2, 3.5], "walrus\n2\n3.5"),
        (42, "42"),
        (0, "0"),
        (3.5, "3.5"),
        (TELEGRAM, "See walrus.org and wait."),
    ],
)
def test_a_text_that_can_be_joined_is_the_text(text: Any, expected: str) -> None:
    passage = read_record({"id": 1, "author": "Ann", "text": text})
    assert passage.text == expected
    assert passage.metadata == {"id": 1, "author": "Ann"}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ({"en": "walrus", "de": "Walross"}, "text.en: walrus\ntext.de: Walross"),
        ([["walrus"], ["seal"]], "text: walrus\ntext: seal"),
        ([{"speaker": "Ann", "says": "walrus"}], "text.speaker: Ann\ntext.says: walrus"),
        (True, "text: true"),
    ],
)
def test_any_other_text_is_a_field(text: Any, lines: str) -> None:
    passage = read_record({"author": "Ann", "text": text})
    assert passage.text == "author: Ann\n" + lines
    assert passage.metadata == {"author": "Ann", "text": text}


def test_a_title_that_is_not_a_string_is_found() -> None:
    assert read_record({"title": ["A walrus", "and a seal"], "text": "Words."}).title == "A walrus and a seal"
    assert read_record({"title": 1984, "text": "Words."}).title == "1984"
    passage = read_record({"Title": {"en": "Walrus", "de": "Walross"}, "text": "Words."})
    assert passage.text == "title.en: Walrus\ntitle.de: Walross\nWords."
    assert passage.metadata == {"Title": {"en": "Walrus", "de": "Walross"}}
    assert read_record({"title": {"rendered": "Walrus"}, "size": 1}).text == "title.rendered: Walrus\nsize: 1"


def test_the_end_of_a_long_title_is_in_the_text() -> None:
    title = "long " * 60 + "walrus"
    assert read_record({"title": title, "text": "Words."}).text == f"{title}\nWords."
    assert read_record({"title": title, "size": 1}).text == f"{title}\nsize: 1"
    assert read_record({"title": title}).text == title


@pytest.mark.parametrize("empty", [None, "", " ", []])
def test_an_empty_text_is_no_text(empty: Any) -> None:
    passage = read_record({"id": 1, "text": empty, "title": empty, "author": "Ann"})
    assert (passage.title, passage.text) == ("a", "author: Ann")
    assert passage.metadata == {"id": 1, "author": "Ann"}


def test_numbers_in_a_column_of_texts_stay_as_they_are_written() -> None:
    content = read_file("a.csv", b"id,title,text\n1,2.50,3.10\n2,7,42\n", Chunking())
    assert [(passage.title, passage.text) for passage in content.passages] == [("2.50", "3.10"), ("7", "42")]
    assert [passage.metadata for passage in content.passages] == [{"id": 1}, {"id": 2}]
