"""Any bytes under any name give passages or UnreadableFile, in bounded time and memory."""

from __future__ import annotations

import gzip
import io
import time
import zipfile

import pyarrow
import pytest
import xlsxwriter
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from asterism import Document
from asterism.documents.files.archives import MOST_MEMBERS
from asterism.documents.files.chunking import Chunking
from asterism.documents.files.names import SUFFIXES
from asterism.documents.files.passages import FileContent
from asterism.documents.files.reading import read_file
from asterism.documents.files.unzipping import MOST_BYTES
from asterism.errors import UnreadableFile

from .made_files import make_files, make_zip

SEVERAL = sorted(suffix for suffixes in SUFFIXES.values() for suffix in suffixes.split()[:1])
NAMES = [f"a.{suffix}{end}" for suffix in SEVERAL for end in ("", ".gz")] + ["README", "a.unknown"]
MADE = make_files()
MANY = 100_000


def try_reading(name: str, data: bytes) -> FileContent | UnreadableFile:
    try:
        return read_file(name, data, Chunking(tokens=20, overlap=5))
    except UnreadableFile as error:
        return error


def read_anything(name: str, data: bytes) -> None:
    """Read twice: the same bytes give the same passages, all of which an index can hold."""
    content = try_reading(name, data)
    if isinstance(content, UnreadableFile):
        assert content.reason in UnreadableFile.REASONS
        assert str(content).startswith(name)
        return
    for passage in content.passages:
        assert passage.text.strip()
        Document("x", passage.text, passage.title, dict(passage.metadata))
    assert try_reading(name, data) == content


@settings(deadline=None)
@given(name=st.sampled_from(NAMES), data=st.binary(max_size=300))
def test_random_bytes(name: str, data: bytes) -> None:
    read_anything(name, data)


@settings(deadline=None)
@given(name=st.sampled_from(NAMES), text=st.text(max_size=300))
def test_random_texts(name: str, text: str) -> None:
    read_anything(name, text.encode("utf-8", "surrogatepass"))


@st.composite
def mutated_files(draw: st.DrawFn) -> tuple[str, bytes]:
    name = draw(st.sampled_from(sorted(MADE)))
    data = MADE[name]
    for _ in range(draw(st.integers(1, 5))):
        begin = draw(st.integers(0, len(data)))
        end = begin + draw(st.integers(0, 30))
        data = data[:begin] + draw(st.binary(max_size=10)) * draw(st.sampled_from([1, 1, 100])) + data[end:]
    return name, data


@settings(deadline=None, max_examples=300)
@given(mutated_files())
def test_mutated_files(file: tuple[str, bytes]) -> None:
    read_anything(*file)


@st.composite
def mutated_archives(draw: st.DrawFn) -> tuple[str, bytes]:
    """A right archive with a wrong member: what the libraries themselves see."""
    name = draw(st.sampled_from(["a.docx", "a.pptx", "a.xlsx", "a.epub"]))
    archive = zipfile.ZipFile(io.BytesIO(MADE[name]))
    members: dict[str, str | bytes] = {member: archive.read(member) for member in archive.namelist()}
    chosen = draw(st.sampled_from(sorted(members)))
    content = members[chosen]
    begin = draw(st.integers(0, len(content)))
    end = begin + draw(st.integers(0, 30))
    added = draw(st.sampled_from([b"", b"<", b">", b'"', b"9" * 20, b"\xff", b"&a;", b"-1"]))
    members[chosen] = bytes(content[:begin]) + added + bytes(content[end:])
    return name, make_zip(members)


@settings(deadline=None, max_examples=100)
@given(mutated_archives())
def test_mutated_archives(file: tuple[str, bytes]) -> None:
    read_anything(*file)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.html", "<div>" * MANY + "words"),
        ("a.html", "<!--" * MANY),
        ("a.html", "<a b='" * MANY),
        ("a.html", "<![x" * MANY),
        ("a.json", "[" * MANY),
        ("a.json", '{"a":' * MANY),
        ("a.jsonl", "[" * MANY),
        ("a.ipynb", '{"cells":' + "[" * MANY),
        ("a.md", "> " * MANY),
        ("a.md", "[" * MANY),
        ("a.md", "".join("  " * level + "- a\n" for level in range(300))),
        ("a.md", "---\na: " + "[" * 30_000 + "\n---\n"),
        ("a.py", "(" * MANY),
        ("a.py", "a" + ".b" * MANY),
        ("a.py", "-" * MANY + "1"),
        ("a.c", "\n \n" * MANY),
        ("a.rst", "::\n" * MANY),
        ("a.csv", '"' * MANY),
        ("a.csv", "a\n" + "x" * 200_000),
        ("a.txt", "x" * 10 * MANY),
    ],
)
def test_deep_and_long(name: str, text: str) -> None:
    """A second or less each; a minute would be a loop that is not linear."""
    began = time.monotonic()
    content = try_reading(name, text.encode())
    assert isinstance(content, FileContent) or content.reason == "damaged"
    assert time.monotonic() - began < 60


def find_reason(name: str, data: bytes) -> str:
    with pytest.raises(UnreadableFile) as caught:
        read_file(name, data, Chunking())
    return caught.value.reason


def test_bombs_are_too_large() -> None:
    zeros = bytes(MOST_BYTES + 1)
    assert find_reason("a.txt.gz", gzip.compress(zeros, 1)) == "too large"
    for name in ("a.docx", "a.pptx", "a.xlsx", "a.epub"):
        assert find_reason(name, make_zip({"big.xml": zeros})) == "too large"
    assert find_reason("a.epub", make_zip({str(i): "" for i in range(MOST_MEMBERS + 1)})) == "too large"
    assert find_reason("a.txt", zeros) == "too large"


def test_what_a_file_repeats_is_too_large() -> None:
    """A string that is stored once and stands in every row."""
    text = "x" * (1 << 20)
    rows = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 1000, pyarrow.int32()), pyarrow.array([text]))
    stream = io.BytesIO()
    parquet.write_table(pyarrow.table({"text": rows}), stream)
    assert len(stream.getvalue()) < 1 << 20
    assert find_reason("a.parquet", stream.getvalue()) == "too large"


def test_a_cell_in_the_far_corner_of_a_sheet() -> None:
    stream = io.BytesIO()
    with xlsxwriter.Workbook(stream, {"in_memory": True}) as book:
        sheet = book.add_worksheet("Large")
        sheet.write(0, 0, "name")
        sheet.write(1_048_575, 16_383, "far")
    content = read_file("a.xlsx", stream.getvalue(), Chunking())
    assert [passage.place.format() for passage in content.passages] == ["Large:1048576"]


def test_an_archive_that_lies_about_its_size_is_damaged() -> None:
    data = make_zip({"xl/workbook.xml": bytes(1 << 20)})
    lie = data.replace((1 << 20).to_bytes(4, "little"), (1000).to_bytes(4, "little"))
    assert lie != data
    assert find_reason("a.xlsx", lie) == "damaged"


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.pptx", "a.xlsx", "a.epub", "a.parquet", "a.md.gz"])
def test_half_a_file_is_damaged(name: str) -> None:
    data = MADE[name]
    content = data[: len(data) // 2]
    if name == "a.pdf":  # PDFium finds the pages that are there
        content = content[:30]
    assert find_reason(name, content) == "damaged"


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\0\0", b"\x7fELF\1\1\0\0", bytes(range(1, 9)) * 10])
def test_what_is_not_a_text_is_binary(data: bytes) -> None:
    for name in ("README", "a.txt", "a.md", "a.html", "a.json", "a.png"):
        assert find_reason(name, data) == "binary"


def test_documents_without_a_reader_are_named() -> None:
    with pytest.raises(UnreadableFile, match=r"^notes/a.odt: there is no reader of \.odt files") as caught:
        read_file("notes/a.odt", b"PK", Chunking())
    assert caught.value.reason == "not known"
