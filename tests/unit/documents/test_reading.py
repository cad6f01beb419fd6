"""Files that are as they should be, files that are not, and how texts are cut."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asterism.documents.chunks import CHUNK, OVERLAP, cut_chunks
from asterism.documents.document import Document
from asterism.documents.reading import count_documents, read_documents, read_jsonl, read_text_folder, read_tsv
from asterism.errors import DocumentError
from asterism.files import bounded_lines

BEIR = b'{"_id": "a", "title": "T", "text": "one", "metadata": {"year": 1999}}\n{"_id": "b", "text": "two"}\n'
TWO = [Document("a", "one", "T", {"year": 1999}), Document("b", "two")]


def write(path: Path, content: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


class Stdin:
    """As click's test runner has it: a buffer that cannot peek."""

    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)


# --- JSON lines ---


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
    assert count_documents(file) == 2


@pytest.mark.parametrize("packed", [False, True])
def test_stdin(packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    content = gzip.compress(BEIR) if packed else BEIR
    for reader in (read_jsonl, read_documents):
        monkeypatch.setattr(sys, "stdin", Stdin(content))
        assert list(reader("-")) == TWO
    monkeypatch.setattr(sys, "stdin", Stdin(b"\n[]"))
    with pytest.raises(DocumentError, match=r"^<stdin>:2: a list"):
        list(read_jsonl("-"))
    assert count_documents("-") is None


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


def test_damaged_gzip(tmp_path: Path) -> None:
    lines = "".join(json.dumps({"_id": f"{i}", "text": f"{i * 7919 % 10007}"}) + "\n" for i in range(50_000))
    whole = gzip.compress(lines.encode())
    cut = write(tmp_path / "cut.jsonl.gz", whole[: len(whole) // 2])
    read = []
    with pytest.raises(DocumentError, match=r"cannot be read .*end-of-stream") as caught:
        read.extend(document.id for document in read_jsonl(cut))
    line = int(str(caught.value).removeprefix(f"{cut}:").split(":")[0])
    assert 1 < line == len(read) + 1 < 50_000
    assert count_documents(cut) is None
    for name, content in {"crc": whole[:-8] + bytes(8), "body": whole[:20] + b"\xff" * 50 + whole[70:]}.items():
        with pytest.raises(DocumentError, match=f"{name}.jsonl.gz:[0-9]+: cannot be read"):
            list(read_jsonl(write(tmp_path / f"{name}.jsonl.gz", content)))


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


def test_one_line_at_a_time(tmp_path: Path) -> None:
    documents = read_jsonl(write(tmp_path / "x.jsonl", BEIR + b"nonsense"))
    assert [next(documents), next(documents)] == TWO


# --- tab-separated lines ---


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
    assert count_documents(file) == len(expected)


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


# --- texts ---


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


# --- chunks ---


def chunks(content: str) -> list[str]:
    return [content[begin:end] for begin, end in cut_chunks(content)]


WORDS = st.text(st.sampled_from("abcé学。！.? "), min_size=1, max_size=12)
PARAGRAPHS = st.lists(st.builds(lambda text, times: text * times, WORDS, st.integers(1, 400)), max_size=8)
CONTENT = st.builds(
    lambda parts, gap: gap.join(parts), PARAGRAPHS, st.sampled_from(["\n\n", "\r\n\r\n", "\n \n\n", "\n"])
)


@settings(deadline=None)
@given(CONTENT | st.text())
def test_chunks(content: str) -> None:
    """All that is not blank is in a chunk; none is too long, blank at an end, or within another."""
    spans = cut_chunks(content)
    covered = set()
    for begin, end in spans:
        assert 0 < end - begin <= CHUNK
        assert content[begin:end] == content[begin:end].strip()
        covered.update(range(begin, end))
    left = {content[i] for i in range(len(content)) if i not in covered}
    assert all(character.isspace() or character == "\ufeff" for character in left)
    for (begin, end), (next_begin, next_end) in pairwise(spans):
        assert begin < next_begin
        assert end < next_end
        assert end - next_begin <= OVERLAP


@settings(deadline=None)
@given(st.lists(st.text("abcd.", min_size=1, max_size=40), max_size=300))
def test_words_stay_whole(words: list[str]) -> None:
    content = " ".join(words)
    assert [word for chunk in chunks(content) for word in chunk.split()] == content.split()


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


def test_packing_and_overlap() -> None:
    a, b, c = "a" * 700, "b" * 300, "c" * 700
    assert chunks(f"{a}\n\n{b}\n\n{c}") == [f"{a}\n\n{b}", f"{b}\n\n{c}"]
    assert chunks(f"{a}\n\n{b}b\n\n{c}") == [f"{a}\n\n{b}b", c]  # too long to be repeated
    assert chunks(f"{a}\n\n{b}\n\n{c}{c}") == [f"{a}\n\n{b}", "c" * 1200, "c" * 200]  # no room to repeat it


def test_long_paragraphs() -> None:
    sentence = "It was said (and heard) by all. "
    first, *_, last = chunks(sentence * 100)
    assert first.endswith("all.")
    assert len(first) > 1100
    assert last.endswith("all.")
    assert chunks("word " * 1000)[0] == ("word " * 240).strip()
    chinese = chunks("这是一个很长的句子。" * 200)
    assert [len(chunk) for chunk in chinese] == [1200, 800]
    assert [len(chunk) for chunk in chunks("这是一个很长的句子吗！" * 200)] == [1199, 1001]
    assert [len(chunk) for chunk in chunks("字" * 2500)] == [1200, 1200, 100]
    assert chunks("a " + "b" * 1300) == ["a", "b" * 1200, "b" * 100]


def test_a_large_file_is_quick() -> None:
    assert len(cut_chunks("word " * 400_000)) > 1600
    assert len(cut_chunks("\n \n".join(["word"] * 100_000))) > 500
    assert cut_chunks("\n" + " " * 1_000_000) == []


def test_a_pipe_in_a_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    os.mkfifo(tmp_path / "b.txt")
    assert [document.id for document in read_documents(tmp_path)] == ["a.txt#1"]


@pytest.mark.parametrize("read", [read_jsonl, read_tsv, read_text_folder, read_documents])
def test_a_pipe_and_a_device_are_not_waited_for(read: Callable[[Path], Iterator[Document]], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.txt")
    (tmp_path / "y.txt").symlink_to("/dev/zero")
    for name, kind in (("x.txt", "fifo"), ("y.txt", "device")):
        with pytest.raises(DocumentError, match=f"{kind}, expected|it has no .txt or .md file|Not a directory"):
            list(read(tmp_path / name))


@pytest.mark.parametrize("name", ["x.jsonl", "x.tsv"])
@pytest.mark.parametrize("packed", [False, True])
def test_the_longest_line(name: str, packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_lines, "LONGEST_LINE", 1000)
    first = b'{"_id": "a", "text": "one"}\n' if name == "x.jsonl" else b"a\tone\n"
    content = first + b"\n" + b"x" * 1001
    file = write(tmp_path / name, gzip.compress(content) if packed else content)
    documents = read_documents(file)
    assert next(documents) == Document("a", "one")
    with pytest.raises(DocumentError, match=f"{name}:3: the line has more than 1,000 bytes, expected at most that"):
        next(documents)
    assert count_documents(file) is None


def test_the_largest_text(tmp_path: Path) -> None:
    with open(tmp_path / "x.txt", "wb") as sparse:
        sparse.truncate(1 << 40)
    with pytest.raises(DocumentError, match=r"x.txt:1: cannot be read .it has 1099511627776 bytes, expected at most"):
        list(read_documents(tmp_path))


def test_a_header_of_very_many_columns_is_refused_at_once(tmp_path: Path) -> None:
    file = write(tmp_path / "x.tsv", "id\ttext\t" + "\t".join(map(str, range(200_000))) + "\na\tb" + "\tc" * 200_000)
    with pytest.raises(DocumentError, match=r"x.tsv:2: document 'a': metadata has more than 10,000 values"):
        list(read_tsv(file))


def test_metadata_that_are_too_large_have_their_place(tmp_path: Path) -> None:
    file = write(tmp_path / "x.jsonl", BEIR + b'{"_id": "c", "text": "t", "%s": 1}' % (b"k" * 1001))
    with pytest.raises(DocumentError, match=r"x.jsonl:3: document 'c': .* full name of 1,001 characters"):
        list(read_jsonl(file))
