"""Documents from one ordinary file."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from asterism import Chunking, Document, read_documents
from asterism.documents.single_files import read_single_file
from asterism.errors import DocumentError

from .written_files import write


def test_passages_know_their_places(tmp_path: Path) -> None:
    file = write(tmp_path / "deep" / "x.md", "\ufeff# Title\n\ntext\n\n## More\n\nwords")
    found = read_single_file(file)
    assert (found.name, found.encoding) == ("x.md", None)
    assert [(document.id, document.title, document.metadata["lines"]) for document in found.documents] == [
        ("x.md#1", "Title", [3, 3]),
        ("x.md#2", "Title › More", [7, 7]),
    ]
    assert [where for where, _ in found.locate()] == [f"{file}:3", f"{file}:7"]
    assert list(read_documents(file)) == list(found.documents)


def test_a_link_has_its_own_name(tmp_path: Path) -> None:
    write(tmp_path / "x.md", "text")
    (tmp_path / "y.md").symlink_to("x.md")
    metadata = {"file": "y.md", "place": 1, "format": "markdown", "lines": [1, 1]}
    assert list(read_documents(tmp_path / "y.md")) == [Document("y.md#1", "text", "y", metadata)]


@pytest.mark.parametrize("name", ["x", "x.rst", "x.csv", "x.py", "x.txt.gz", "x.html"])
def test_every_format(name: str, tmp_path: Path) -> None:
    content = b"fox, dog\nred, brown\n"
    file = write(tmp_path / name, gzip.compress(content) if name.endswith(".gz") else content)
    assert any("brown" in document.text for document in read_documents(file))


def test_encodings_and_sizes(tmp_path: Path) -> None:
    latin = write(tmp_path / "x.txt", "Ein früher Käfer läuft über die Straße.".encode("latin-1"))
    assert read_single_file(latin).encoding == "latin-1"
    long = write(tmp_path / "y.txt", "A sentence of some words about a fox. " * 40)
    assert len(read_single_file(long, Chunking(tokens=50)).documents) > len(read_single_file(long).documents)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.txt", b"a\0b", r"x\.txt: .*not a text"),
        ("x.md.gz", b"\x1f\x8b\x08\0cut", r"x\.md\.gz: "),
        ("x.doc", b"text", r"x\.doc: there is no reader of \.doc files"),
    ],
)
def test_what_cannot_be_read(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    file = write(tmp_path / name, content)
    with pytest.raises(DocumentError, match=message) as caught:
        list(read_documents(file))
    assert str(caught.value).startswith(f"{file}: ")


def test_the_largest_file(tmp_path: Path) -> None:
    with open(tmp_path / "x.txt", "wb") as sparse:
        sparse.truncate(1 << 40)
    with pytest.raises(DocumentError, match=r"x\.txt: it has 1,099,511,627,776 bytes, expected at most"):
        list(read_documents(tmp_path / "x.txt"))


def test_odd_names(tmp_path: Path) -> None:
    file = write(tmp_path / os.fsdecode(b"caf\xe9\n.md"), "text")
    assert [document.id for document in read_documents(file)] == [r"caf\xe9\x0a.md#1"]
