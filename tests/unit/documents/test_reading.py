"""Which reader reads a path, and which paths none reads."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from asterism.documents.document import Document
from asterism.documents.reading import count_documents, read_documents, read_jsonl, read_text_folder, read_tsv
from asterism.errors import DocumentError

from .written_files import BEIR, TWO, write


def test_empty_and_missing(tmp_path: Path) -> None:
    empty = write(tmp_path / "empty.jsonl", "")
    assert list(read_documents(empty)) == []
    assert count_documents(empty) == 0
    assert count_documents(tmp_path / "missing.jsonl") is None
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
    assert count_documents(tmp_path) == 2
    write(tmp_path / "corpus.jsonl", BEIR.splitlines()[0])
    assert list(read_documents(tmp_path)) == TWO[:1]


@pytest.mark.parametrize("name", ["x.pdf", "x", "x.txt.gz", "x.gz"])
def test_unknown_kinds(name: str, tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"not of a known kind, expected a \.jsonl, \.json or \.tsv file"):
        read_documents(write(tmp_path / name, "x"))


@pytest.mark.parametrize("read", [read_jsonl, read_tsv, read_text_folder, read_documents])
def test_a_pipe_and_a_device_are_not_waited_for(read: Callable[[Path], Iterator[Document]], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.txt")
    (tmp_path / "y.txt").symlink_to("/dev/zero")
    for name, kind in (("x.txt", "fifo"), ("y.txt", "device")):
        with pytest.raises(DocumentError, match=f"{kind}, expected|it has no .txt or .md file|Not a directory"):
            list(read(tmp_path / name))
