"""Documents from folders of .txt and .md files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asterism.documents.document import Document
from asterism.documents.reading import count_documents, read_documents, read_text_folder
from asterism.errors import DocumentError

from .written_files import write


def test_folder(tmp_path: Path) -> None:
    write(tmp_path / "b.md", "intro\n\n```\n# no heading\n```\n\n## Real *one* ##\n\nend\n")
    write(tmp_path / "a/notes.TXT", "\r\n\r\nfirst line\r\nsecond\r\n\r\nthird  ")
    write(tmp_path / "c-sharp.md", "# C#\nx")
    write(tmp_path / "empty.txt", " \n\n\t")
    for skipped in (".hidden.md", ".git/x.md", "a/.b/x.txt", "x.rst", "y"):
        write(tmp_path / skipped, "skipped")
    documents = list(read_documents(tmp_path))
    assert [(document.id, document.title) for document in documents] == [
        ("a/notes.TXT#1", "notes"),
        ("b.md#1", "Real *one*"),
        ("c-sharp.md#1", "C#"),
    ]
    assert documents[0].text == "first line\r\nsecond\r\n\r\nthird"
    assert documents[0].metadata == {"path": "a/notes.TXT", "chunk": 1, "begin": 4, "end": 31}
    assert count_documents(tmp_path) is None


def test_one_file(tmp_path: Path) -> None:
    file = write(tmp_path / "x.md", "\ufeff# Title\n\ntext")
    expected = Document("x.md#1", "# Title\n\ntext", "Title", {"path": "x.md", "chunk": 1, "begin": 1, "end": 14})
    assert list(read_documents(file)) == list(read_text_folder(file)) == [expected]
    assert count_documents(file) is None


def test_bad_texts(tmp_path: Path) -> None:
    file = write(tmp_path / "x.txt", b"one\ntwo\nth\xffree")
    with pytest.raises(DocumentError, match=r"not UTF-8 .byte 0xff at position 10") as caught:
        list(read_text_folder(tmp_path))
    assert str(caught.value).startswith(f"{file}:3: ")
    write(file, "one\n\n" + "x" * 1199 + "\n\nthree\0")
    with pytest.raises(DocumentError, match=r"x.txt:5: document 'x.txt#3': text has a NUL at character 5"):
        list(read_text_folder(tmp_path))
    file.unlink()
    with pytest.raises(DocumentError, match=r"it has no .txt or .md file"):
        list(read_text_folder(tmp_path))
    with pytest.raises(DocumentError, match=r"cannot be read .No such file"):
        list(read_text_folder(tmp_path / "missing"))


@settings(deadline=None)
@given(lengths=st.lists(st.integers(1, 500), max_size=30))
def test_the_reader_says_where(lengths: list[int], tmp_path_factory: pytest.TempPathFactory) -> None:
    content = "\n\n".join(f"{i} " + "é" * length for i, length in enumerate(lengths))
    file = write(tmp_path_factory.mktemp("texts") / "x.txt", content)
    for number, document in enumerate(read_text_folder(file), 1):
        place = document.metadata
        assert document.id == f"x.txt#{number}"
        assert place["chunk"] == number
        assert document.text == content[place["begin"] : place["end"]]


def test_a_pipe_in_a_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    os.mkfifo(tmp_path / "b.txt")
    assert [document.id for document in read_documents(tmp_path)] == ["a.txt#1"]


def test_the_largest_text(tmp_path: Path) -> None:
    with open(tmp_path / "x.txt", "wb") as sparse:
        sparse.truncate(1 << 40)
    with pytest.raises(DocumentError, match=r"x.txt:1: cannot be read .it has 1099511627776 bytes, expected at most"):
        list(read_documents(tmp_path))
