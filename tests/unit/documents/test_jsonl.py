"""Documents from JSON lines."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest

from asterism.documents.document import Document
from asterism.documents.reading import read_documents, read_jsonl
from asterism.errors import DocumentError

from .written_files import BEIR, TWO, write


class Stdin:
    """As click's test runner has it: a buffer that cannot peek."""

    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)


@pytest.mark.parametrize(
    "content",
    [BEIR, BEIR.strip(), b"\xef\xbb\xbf" + BEIR, BEIR.replace(b"\n", b"\r\n"), b"\n \n" + BEIR.replace(b"\n", b"\n\n")],
    ids=["plain", "no last newline", "BOM", "CRLF", "blank lines"],
)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz", "x.JSON"])
def test_jsonl(content: bytes, packed: bool, name: str, tmp_path: Path) -> None:
    """Whether it is gzip is decided by the content, not by the name."""
    file = write(tmp_path / name, gzip.compress(content) if packed else content)
    assert list(read_jsonl(file)) == list(read_documents(str(file))) == TWO


@pytest.mark.parametrize("packed", [False, True])
def test_stdin(packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    content = gzip.compress(BEIR) if packed else BEIR
    for reader in (read_jsonl, read_documents):
        monkeypatch.setattr(sys, "stdin", Stdin(content))
        assert list(reader("-")) == TWO
    monkeypatch.setattr(sys, "stdin", Stdin(b"\n[]"))
    with pytest.raises(DocumentError, match=r"^<stdin>:2: a list"):
        list(read_jsonl("-"))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"_id": 12, "text": "t"}', Document("12", "t")),
        ('{"id": "x", "text": "t"}', Document("x", "t")),
        ('{"_id": "x", "id": "y", "text": "t"}', Document("x", "t", metadata={"id": "y"})),
        ('{"_id": "x", "title": null, "metadata": null, "text": ""}', Document("x", "")),
        (
            '{"_id": "x", "text": "t", "year": 2000, "metadata": {"a": [1]}}',
            Document("x", "t", metadata={"a": [1], "year": 2000}),
        ),
        ('{"_id": "x", "text": "a\u2028b\x85c"}', Document("x", "a\u2028b\x85c")),
    ],
)
def test_jsonl_forms(line: str, expected: Document, tmp_path: Path) -> None:
    assert list(read_jsonl(write(tmp_path / "x.jsonl", line + "\n"))) == [expected]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"_id": "x", "text": "t"', "not JSON .* at column 25"),
        (b"text", "not JSON .* expected one JSON object per line"),
        (b"[]", "a list, expected one JSON object"),
        (b"null", "null, expected"),
        (b"3", "a number, expected"),
        (b'"a"', "a string, expected"),
        (b'{"text": "t"}', "the object has no '_id' or 'id'"),
        (b'{"_id": "x"}', "the object has no 'text'"),
        (b'{"_id": 1.5, "text": "t"}', "id of a document is 1.5"),
        (b'{"_id": true, "text": "t"}', r"id of a document is True \(a bool\)"),
        (b'{"_id": null, "id": "x", "text": "t"}', "id of a document is None"),
        (b'{"_id": "", "text": "t"}', "the id is empty"),
        (b'{"_id": "x", "text": 3}', "document 'x': text is an int"),
        (b'{"_id": "x", "text": null}', "document 'x': text is a NoneType"),
        (b'{"_id": "x", "text": "t", "title": []}', "document 'x': title is a list"),
        (b'{"_id": "x", "text": "t", "metadata": []}', "metadata is a list, expected an object"),
        (b'{"_id": "x", "text": "t", "y": 1, "metadata": {"y": 1}}', "'y' is both in the object and in its metadata"),
        (b'{"_id": "x", "text": "t", "y": NaN}', "NaN is not a JSON number"),
        (b'{"_id": "x", "text": "t", "y": -Infinity}', "-Infinity is not a JSON number"),
        (b'{"_id": "x", "text": "t", "y": 1e999}', r"metadata\['y'\] is inf"),
        (b'{"_id": "x", "text": "t", "y": 9223372036854775808}', "beyond 64 bits"),
        (b'{"_id": "x", "text": "t", "y": ' + b"9" * 5000 + b"}", "not usable JSON"),
        (b'{"_id": "x", "text": "t", "y": ' + b"[" * 100_000, "not usable JSON"),
        (b'{"_id": "x", "text": "a\\u0000b"}', "document 'x': text has a NUL"),
        (b'{"_id": "x", "text": "a\0b"}', "not JSON"),
        (b'{"_id": "x", "text": "\\ud800"}', "surrogate"),
        (b'{"_id": "x", "text": "caf\xe9"}', "not UTF-8 .byte 0xe9 at position 25."),
        ('{"_id": "x"}'.encode("utf-16"), "not UTF-8"),
    ],
)
def test_bad_lines(line: bytes, message: str, tmp_path: Path) -> None:
    file = write(tmp_path / "x.jsonl", BEIR + b"\n" + line + b"\n" + BEIR)
    documents = read_jsonl(file)
    assert [next(documents), next(documents)] == TWO
    with pytest.raises(DocumentError, match=message) as caught:
        next(documents)
    assert str(caught.value).startswith(f"{file}:4: ")


def test_one_line_at_a_time(tmp_path: Path) -> None:
    documents = read_jsonl(write(tmp_path / "x.jsonl", BEIR + b"nonsense"))
    assert [next(documents), next(documents)] == TWO


def test_metadata_that_are_too_large_have_their_place(tmp_path: Path) -> None:
    file = write(tmp_path / "x.jsonl", BEIR + b'{"_id": "c", "text": "t", "%s": 1}' % (b"k" * 1001))
    with pytest.raises(DocumentError, match=r"x.jsonl:3: document 'c': .* full name of 1,001 characters"):
        list(read_jsonl(file))
