"""Which reader reads a path, and which paths none reads."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from asterism.documents.document import Document
from asterism.documents.reading import is_ordinary_file, read_documents, read_jsonl, read_tsv
from asterism.errors import DocumentError

from .written_files import BEIR, TWO, write


def test_empty_and_missing(tmp_path: Path) -> None:
    empty = write(tmp_path / "empty.jsonl", "")
    assert list(read_documents(empty)) == []
    with pytest.raises(DocumentError, match=r"missing.jsonl:1: cannot be read .No such file"):
        list(read_jsonl(tmp_path / "missing.jsonl"))
    with pytest.raises(DocumentError, match=r"does not exist, expected a .jsonl"):
        read_documents(tmp_path / "missing.jsonl")
    with pytest.raises(DocumentError, match="cannot be read"):
        list(read_jsonl(tmp_path))


def test_a_beir_folder(tmp_path: Path) -> None:
    write(tmp_path / "README.md", "about")
    write(tmp_path / "corpus.jsonl.gz", gzip.compress(BEIR))
    assert list(read_documents(tmp_path)) == TWO
    write(tmp_path / "corpus.jsonl", BEIR.splitlines()[0])
    assert list(read_documents(tmp_path)) == TWO[:1]


def test_a_folder_of_other_files(tmp_path: Path) -> None:
    write(tmp_path / "a.md", "text")
    with pytest.raises(DocumentError, match=r"is a folder without corpus\.jsonl, expected .*; Retriever\.sync"):
        read_documents(tmp_path)


def test_which_files_have_a_document_in_each_line(tmp_path: Path) -> None:
    for name in ("x.jsonl", "x.JSON", "x.tsv", "x.jsonl.gz", "x.tsv.GZ"):
        assert not is_ordinary_file(write(tmp_path / name, "x"))
    for name in ("x", "x.md", "x.csv", "x.txt.gz", "x.gz"):
        assert is_ordinary_file(write(tmp_path / name, "x"))
    assert not is_ordinary_file(tmp_path)
    assert not is_ordinary_file(tmp_path / "none.md")


@pytest.mark.parametrize("read", [read_jsonl, read_tsv, read_documents])
def test_a_pipe_and_a_device_are_not_waited_for(read: Callable[[Path], Iterator[Document]], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.txt")
    (tmp_path / "y.txt").symlink_to("/dev/zero")
    for name, kind in (("x.txt", "fifo"), ("y.txt", "device")):
        with pytest.raises(DocumentError, match=f"{kind}, expected"):
            list(read(tmp_path / name))
