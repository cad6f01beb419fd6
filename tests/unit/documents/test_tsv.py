"""Documents from tab-separated lines."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from asterism.documents.document import Document
from asterism.documents.reading import read_documents, read_tsv
from asterism.errors import DocumentError

from .written_files import write


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a\tone\nb\ttwo", [Document("a", "one"), Document("b", "two")]),
        ("a\tT\tone\n\nb\t\ttwo\n", [Document("a", "one", "T"), Document("b", "two")]),
        ('\ufeffa\t"one\r\nb\ttwo"\r\n', [Document("a", '"one'), Document("b", 'two"')]),
        ("id\ttext\na\tone", [Document("a", "one")]),
        (
            "_ID\tlang\tText\tTITLE\nid\tde\tone\tT\n",
            [Document("id", "one", "T", {"lang": "de"})],
        ),
        ("id\ttext", []),
        ("", []),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_tsv(content: str, expected: list[Document], packed: bool, tmp_path: Path) -> None:
    raw = gzip.compress(content.encode()) if packed else content.encode()
    file = write(tmp_path / ("x.tsv.gz" if packed else "x.tsv"), raw)
    assert list(read_tsv(file)) == list(read_documents(file)) == expected


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("a\n", 1, "1 columns, expected 2"),
        ("a\tb\tc\td", 1, "4 columns, expected 2 .* or a header"),
        ("a\tb\nc\td\te", 2, r"3 columns, expected 2 \(_id, text\) as in the first line"),
        ("\n\na\tb\tc\nd\te", 4, "2 columns, expected 3"),
        ("id\ttitle\na\tb", 1, "no column text: it has id, title"),
        ("id\ttext\tTEXT", 1, "column 3 of the header is 'text', expected a unique name"),
        ("id\ttext\t", 1, "column 3 of the header is ''"),
        ("id\ttext\nb", 2, "1 columns, expected 2"),
        ("a\tb\n\tc", 2, "the id is empty"),
        ("a\tb\n c\td", 2, "document ' c': the id begins or ends with white space"),
        ("a\tb\nc\td\0", 2, "document 'c': text has a NUL"),
    ],
)
def test_bad_tsv(content: str, line: int, message: str, tmp_path: Path) -> None:
    file = write(tmp_path / "x.tsv", content)
    with pytest.raises(DocumentError, match=message) as caught:
        list(read_tsv(file))
    assert str(caught.value).startswith(f"{file}:{line}: ")


def test_tsv_not_utf8(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"x.tsv:2: not UTF-8"):
        list(read_tsv(write(tmp_path / "x.tsv", b"a\tb\nc\t\xff")))


def test_a_header_of_very_many_columns_is_refused_at_once(tmp_path: Path) -> None:
    file = write(tmp_path / "x.tsv", "id\ttext\t" + "\t".join(map(str, range(200_000))) + "\na\tb" + "\tc" * 200_000)
    with pytest.raises(DocumentError, match=r"x.tsv:2: document 'a': metadata has more than 10,000 values"):
        list(read_tsv(file))
