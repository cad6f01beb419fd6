"""Encodings are detected and told."""

from __future__ import annotations

import pytest

from asterism.documents.files.chunking import Chunking
from asterism.documents.files.reading import read_file
from asterism.errors import UnreadableFile

FRENCH = "Le café est fermé à cause de l'été. Déjà vu, garçon, où êtes-vous ?"
RUSSIAN = "Привет, мир. Это обычный русский текст о погоде и море."
POLISH = "Nie można otworzyć pliku, ponieważ został usunięty przez użytkownika."
JAPANESE = "これは日本語のテキストです。天気がいいですね。"


@pytest.mark.parametrize(
    ("text", "encoding", "told"),
    [
        (FRENCH, "utf-8", None),
        (FRENCH, "utf-8-sig", None),
        (FRENCH, "latin-1", "latin-1"),
        ("José García", "latin-1", "latin-1"),
        ("/* Copyright © 2004 Jürgen */\nint a;\n", "latin-1", "latin-1"),
        ("It’s a “quoted” text – with dashes.", "cp1252", "cp1252"),
        (FRENCH, "utf-16", "utf-16"),
        (FRENCH, "utf-16-le", "utf-16-le"),
        (FRENCH, "utf-16-be", "utf-16-be"),
        (FRENCH, "utf-32", "utf-32"),
        (RUSSIAN, "cp1251", "cp1251"),
        (RUSSIAN, "koi8-r", "koi8-r"),
        (POLISH, "cp1250", "cp1250"),
        (JAPANESE, "cp932", "cp932"),
        (JAPANESE, "euc-jp", "euc-jp"),
        ("这是一个中文文本。今天天气很好。", "gb18030", "gb18030"),
    ],
)
def test_encodings(text: str, encoding: str, told: str | None) -> None:
    content = read_file("a.txt", text.encode(encoding), Chunking())
    assert content.encoding == told
    assert [passage.text for passage in content.passages] == [text.strip()]


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("a.html", '<meta charset="iso-8859-2"><p>'),
        ("a.xml", '<?xml version="1.0" encoding="ISO-8859-2"?>\n'),
        ("a.py", "# -*- coding: iso8859-2 -*-\n# "),
    ],
)
def test_declared_encodings(name: str, head: str) -> None:
    content = read_file(name, (head + "ąęłńśźż").encode("iso8859-2"), Chunking())
    assert content.encoding == "iso8859-2"
    assert "ąęłńśźż" in content.passages[0].text


@pytest.mark.parametrize("declared", ["rot13", "punycode", "idna", "zlib", "unicode_escape", "nonsense", "utf-7"])
def test_only_encodings_of_texts_count(declared: str) -> None:
    content = read_file("a.py", f"# coding: {declared}\n# {FRENCH}".encode("latin-1"), Chunking())
    assert content.encoding == "latin-1"


def test_a_few_wrong_bytes_do_not_change_the_encoding() -> None:
    content = read_file("a.txt", (RUSSIAN * 3).encode() + b"\xff", Chunking())
    assert content.encoding == "utf-8 with errors"
    assert content.passages[0].text.startswith(RUSSIAN)


def test_a_wrong_mark_is_an_error_of_encoding() -> None:
    with pytest.raises(UnreadableFile, match="begins with the mark of UTF-16") as caught:
        read_file("a.txt", b"\xff\xfea", Chunking())
    assert caught.value.reason == "encoding"


@pytest.mark.parametrize(("data", "lines"), [(b"a\r\n\r\nb", "1–3"), (b"a\r\rb", "1–3"), (b"a\rb\nc", "1–2")])
def test_lines_are_counted_as_editors_do(data: bytes, lines: str) -> None:
    assert read_file("a.txt", data, Chunking()).passages[0].place.format() == lines
