"""Tables with quotes that are not closed, and with long cells: no row hides another."""

from __future__ import annotations

import csv
import time

import pytest

from asterism.documents.files.chunking import Chunking
from asterism.documents.files.reading import read_file


def read(name: str, text: str) -> list[tuple[str, str]]:
    content = read_file(name, text.encode(), Chunking(tokens=8000))
    return [(passage.place.format(), passage.text) for passage in content.passages]


def test_a_quote_in_tab_separated_values_is_a_letter() -> None:
    text = 'id\ttext\n1\t"Walrus is a word\n2\tHe said "no"\n3\t"all" of it\n4\tseal"\n'
    assert read("a.tsv", text) == [
        ("2", '"Walrus is a word'),
        ("3", 'He said "no"'),
        ("4", '"all" of it'),
        ("5", 'seal"'),
    ]


def test_quotes_around_cells_of_tab_separated_values_are_taken_off() -> None:
    assert read("a.tsv", '"id"\t"text"\n"1"\t"a ""walrus"""\n') == [("2", 'a "walrus"')]


def test_quotes_around_newlines_in_tab_separated_values() -> None:
    """The lines are not equally long, and with the quotes the rows are."""
    assert read("a.tsv", 'id\ttext\n1\t"two\nlines"\n2\tone\n') == [("2–3", "two\nlines"), ("4", "one")]


def test_a_quote_that_is_never_closed_hides_no_row() -> None:
    text = 'id,text\n0,"a, b"\n1,"walrus, seal\n2,two\n3,"x ""y"" z"\n4,four\n'
    expected = [("2", "a, b"), ("3", "walrus, seal"), ("4", "two"), ("5", 'x "y" z'), ("6", "four")]
    assert read("a.csv", text) == expected
    assert read("a.csv", 'id,text\n1,one\n2,"x') == [("2", "one"), ("3", "x")]


def test_a_quote_that_another_row_closes_hides_no_row() -> None:
    text = 'id,text\n1,"walrus\n2,two\n3,three\n4,"four, 4"\n5,"two\nlines"\n'
    assert read("a.csv", text) == [
        ("2", "walrus"),
        ("3", "two"),
        ("4", "three"),
        ("5", "four, 4"),
        ("6–7", "two\nlines"),
    ]


def test_letters_after_a_quoted_cell_stay() -> None:
    assert read("a.csv", 'id,text\n1,"walrus" and seal\n2,"a, b"\n') == [("2", "walrus and seal"), ("3", "a, b")]


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_long_cell_is_a_cell(quote: str) -> None:
    limit = csv.field_size_limit()
    long = "walrus " * 30_000
    content = read_file("a.csv", f"id,text\n1,{quote}{long}{quote}\n2,two\n".encode(), Chunking())
    assert {passage.metadata["id"] for passage in content.passages} == {1, 2}
    assert " ".join(passage.text for passage in content.passages) == f"{long}two"
    assert csv.field_size_limit() == limit


def test_quotes_that_stay_open_take_linear_time() -> None:
    began = time.monotonic()
    assert len(read("a.csv", "id,text\n" + 'b","""\n' * 50_000)) > 1000
    assert len(read("a.csv", "id,text\n" + 'b,"a"b\n' * 50_000)) == 50_000
    assert time.monotonic() - began < 60
