"""What each format becomes: titles, places, metadata."""

from __future__ import annotations

import json
import sys

import pytest

from asterism.documents.files.chunking import Chunking
from asterism.documents.files.passages import FileContent, Place
from asterism.documents.files.reading import find_format, read_file
from asterism.errors import UnreadableFile

from .lines import assert_lines
from .made_files import make_files, make_zip

MADE = make_files()

Shown = list[tuple[str, str, str]]  # place, title, text


def show(content: FileContent) -> Shown:
    return [(passage.place.format(), passage.title, passage.text) for passage in content.passages]


def read(name: str) -> FileContent:
    return read_file(name, MADE[name], Chunking())


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.rst", "a.py", "a.c"])
def test_the_lines_are_those_of_the_file(name: str) -> None:
    for tokens in (8, 20, 200):
        assert_lines(MADE[name], read_file(name, MADE[name], Chunking(tokens=tokens, overlap=tokens // 4)))


def test_markdown() -> None:
    content = read("a.md")
    assert show(content) == [
        ("8", "Guide", "Words before the parts."),
        (
            "12–19",
            "Guide › Install",
            "Paragraph one. It has two sentences.\n\n```sh\n# not a heading\npip install asterism\n\nmake\n```",
        ),
        (
            "23–30",
            "Guide › Install › Linux",
            "- first item\n- second item\n\n    code in a list\n\n| a | b |\n|---|---|\n| 1 | 2 |",
        ),
        ("35", "Guide › Setext heading", "Last words."),
    ]
    expected = {"title": "Guide", "tags": ["search", "files"], "date": "2024-05-01"}
    assert all(passage.metadata == expected for passage in content.passages)
    assert read("a.md.gz") == content


@pytest.mark.parametrize("text", ["---\na: [\n---\nwords\n", "---\njust words\n---\nmore\n", "---\na: b\n"])
def test_what_is_not_front_matter_is_text(text: str) -> None:
    content = read_file("a.md", text.encode(), Chunking())
    assert content.passages
    assert all(passage.metadata == {} for passage in content.passages)


def test_headings_that_nothing_follows_are_passages() -> None:
    content = read_file("a.md", b"# One\n\n# Two\n\n## Three\n\n# Four\nwords\n", Chunking())
    assert show(content) == [
        ("1", "One", "# One"),
        ("5", "Two › Three", "## Three"),
        ("8", "Four", "words"),
    ]


def test_headings_that_only_blank_lines_follow_are_passages() -> None:
    assert show(read_file("a.md", b"# One\n\n", Chunking())) == [("1", "One", "# One")]
    content = read_file("a.rst", b"One\n===\n\nTwo\n===\n\nwords\n\nThree\n=====\n\n", Chunking())
    assert show(content) == [("1–2", "One", "One\n==="), ("7", "Two", "words"), ("9–10", "Three", "Three\n=====")]


def test_targets_of_links_alone_are_passages() -> None:
    data = b"[a]: http://walrus\n\n# One\n\n[b]: http://seal\n\n# Two\n\nwords\n\n[c]: http://fox\n\n# Three\n\n[d]: http://hen\n"
    assert show(read_file("a.md", data, Chunking())) == [
        ("1", "a", "[a]: http://walrus"),
        ("5", "One", "[b]: http://seal"),
        ("9–11", "Two", "words\n\n[c]: http://fox"),
        ("15", "Three", "[d]: http://hen"),
    ]


def test_rst() -> None:
    assert show(read("a.rst")) == [
        ("5", "Guide", "Words before the parts."),
        ("10–14", "Guide › Install", "Like this::\n\n    $ pip install asterism\n\n    $ make"),
        (
            "19–24",
            "Guide › Install › Linux",
            '* first item\n* second item\n\n.. code-block:: python\n\n   print("hello")',
        ),
    ]


def test_html() -> None:
    assert show(read("a.html")) == [
        ("6–7", "A page", "Before & after the headings."),
        ("9–11", "Guide", "First words.\n\nSecond words.\n- one\n- two"),
        ("13–16", "Guide › Install", "pip install asterism\n  make\na | b\n1 | 2"),
    ]


def test_html_lines_are_where_the_words_are() -> None:
    lines = [f"<p>word{number}\n&amp; more" for number in range(50)]
    data = "\n".join(lines).encode()
    content = read_file("a.html", data, Chunking(tokens=20))
    given = data.decode().split("\n")
    assert len(content.passages) > 5
    for passage in content.passages:
        first, last = passage.place.first_line, passage.place.last_line
        assert first is not None
        assert last is not None
        inside = "\n".join(given[first - 1 : last])
        words = [word for word in passage.text.split() if word.startswith("word")]
        assert words == [line.removeprefix("<p>") for line in inside.split("\n") if "word" in line]


def test_hidden_parts_without_an_end_do_not_hide_the_page() -> None:
    content = read_file("a.html", b"<nav>menu<p>All of the page.", Chunking())
    assert [passage.text for passage in content.passages] == ["menu\n\nAll of the page."]


def test_python() -> None:
    content = read("a.py")
    assert [(place, title) for place, title, _ in show(content)] == [
        ("1–5", "a"),
        ("8–12", "a › first"),
        ("15–18", "a › Thing"),
        ("20–21", "a › Thing › grow"),
        ("23–24", "a › Thing › shrink"),
        ("27", "a"),
    ]
    assert read_file("thing/__init__.py", b"print 'Python 2'\n", Chunking()).passages[0].title == "thing"


def test_csv() -> None:
    content = read("a.csv")
    assert show(content) == [
        ("2–3", "First", "A text of\ntwo lines, quoted."),
        ("4", "Second", "Another text."),
        ("6", "Third", "The last."),
    ]
    assert [passage.metadata for passage in content.passages] == [
        {"id": "a", "year": 1999, "author": "Ole"},
        {"id": "b", "year": 2004},
        {"id": "c", "year": 2010, "author": "Ada"},
    ]


def test_tables_without_text_or_header() -> None:
    content = read_file("a.csv", b"name;size\nfox;01\n", Chunking())
    assert show(content) == [("2", "a", "name: fox\nsize: 01")]
    assert content.passages[0].metadata == {"name": "fox", "size": "01"}  # not a number: it begins with 0
    content = read_file("a.csv", b"fox,1\nhen,2,3\n", Chunking())
    assert [text for _, _, text in show(content)] == ["column 1: fox\ncolumn 2: 1", "column 1: hen\ncolumn 2: 2 3"]
    assert show(read("a.tsv")) == [("2", "a", "name: fox\nsize: small")]


def test_json_lines() -> None:
    content = read("a.jsonl")
    assert show(content) == [
        ("1", "First", "A text."),
        ("3", "a", "Another text."),
        ("4", "a", "name: Ada\nborn.year: 1815\nborn.in: London, England"),
    ]
    assert content.passages[0].metadata == {"id": "a", "year": 1999, "author": "Ole"}
    with pytest.raises(UnreadableFile, match=r"^b\.jsonl: line 2 is not usable JSON"):
        read_file("b.jsonl", b'{"a": 1}\n{"a": \n', Chunking())


def test_json() -> None:
    array = [{"_id": str(number), "title": f"T{number}", "text": f"Text {number}."} for number in range(3)]
    content = read_file("a.json", json.dumps(array, indent=2).encode(), Chunking())
    assert show(content) == [("2–6", "T0", "Text 0."), ("7–11", "T1", "Text 1."), ("12–16", "T2", "Text 2.")]
    config = {"name": "fox", "scripts": {"test": "make test", "all": ["a", {"b": None, "c": True}]}}
    content = read_file("package.json", json.dumps(config, indent=2).encode(), Chunking())
    assert show(content) == [
        ("2–12", "package", "name: fox\nscripts.test: make test\nscripts.all: a\nscripts.all.c: true")
    ]
    assert read_file("a.json", MADE["a.jsonl"], Chunking()).passages == read("a.jsonl").passages
    content = read_file("tsconfig.json", b'{\n  // why\n  "a": 1\n}\n', Chunking())
    assert show(content) == [("1–4", "tsconfig", '{\n  // why\n  "a": 1\n}')]


def test_what_json_can_spell_and_an_index_cannot_hold() -> None:
    data = (
        rb'{"text": "a\u0000b\ud800c", "x\u0000": 1, "big": 123456789012345678901, "deep": ' + b"[" * 200 + b"]" * 200
    )
    (passage,) = read_file("a.jsonl", data + b', "ok": 2}', Chunking()).passages
    assert passage.text == "ab\ufffdc"
    assert passage.metadata == {"ok": 2}


def test_notebook() -> None:
    assert show(read("a.ipynb")) == [
        ("3–23", "Analysis", "Why we look.\n\nprint(1 + 1)\n\n2"),
        ("24–27", "Analysis › Result", "It is two."),
    ]


def test_pdf() -> None:
    content = read("a.pdf")
    assert show(content) == [("p. 1", "a", "The first page."), ("p. 2", "a", "The second page.")]
    assert content.passages[1].place == Place(page=2)


def test_office() -> None:
    assert show(read("a.docx")) == [
        ("", "Guide", "Words before the parts."),
        ("", "Guide › Install", "How to install it.\nname | size\nfox | small"),
    ]
    assert read("a.docx").passages[0].metadata["author"] == "Ole"
    assert show(read("a.pptx")) == [
        ("p. 1", "Opening", "Welcome to all."),
        ("p. 2", "Results", "It is faster.\nSay it slowly."),
    ]
    assert show(read("a.xlsx")) == [
        ("People:2", "People", "name: Ada\nborn: 1815"),
        ("People:3", "People", "name: Ole\nborn: 1644"),
        ("Notes:4", "Notes › First", "A long note."),
    ]
    assert read("a.xlsx").passages[0].metadata == {"name": "Ada", "born": 1815}


def test_epub() -> None:
    content = read("a.epub")
    assert show(content) == [("", "The Book › One", "Words of One."), ("", "The Book › Two", "Words of Two.")]
    with pytest.raises(UnreadableFile, match="not readable as epub"):
        read_file("a.epub", make_zip({"mimetype": "application/epub+zip"}), Chunking())


def test_email() -> None:
    content = read("a.eml")
    assert show(content) == [("", "Grüße aus der Ferne", "Dear Ada,\n\nall is well.")]
    assert content.passages[0].metadata == {
        "from": "Ole <ole@example.org>",
        "to": "ada@example.org",
        "date": "2024-05-01T10:00:00+00:00",
        "attachments": ["plan.bin"],
    }


def test_parquet() -> None:
    content = read("a.parquet")
    assert show(content) == [("1", "a", "A text."), ("2", "a", "Another.")]
    assert content.passages[0].metadata == {"id": "a", "year": 1999}


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("a.pdf", "pypdfium2"),
        ("a.docx", "docx"),
        ("a.pptx", "pptx"),
        ("a.xlsx", "openpyxl"),
        ("a.epub", "lxml"),
        ("a.parquet", "pyarrow"),
    ],
)
def test_without_the_extra(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UnreadableFile, match=rf"^{name}: .*{package}.*pip install 'asterism\[files\]'") as caught:
        read(name)
    assert caught.value.reason == "needs extra"


@pytest.mark.parametrize("name", [name for name in MADE if name != "a.txt"])
def test_empty_files_give_no_passages(name: str) -> None:
    assert name.endswith(".gz") or read_file(name, b"", Chunking()).passages == ()


def test_names() -> None:
    formats = {name: find_format(name) for name in ("a.MD", "x/b.html.gz", "README", "Makefile", "a.b.py", "a.png")}
    assert formats == {
        "a.MD": "markdown",
        "x/b.html.gz": "html",
        "README": "text",
        "Makefile": "makefile",
        "a.b.py": "python",
        "a.png": None,
    }
    assert find_format(".md") is None
    assert read_file("notes.d/whatever", b"Words.\n", Chunking()).format == "text"


def test_an_ending_that_plain_texts_have_too() -> None:
    (passage,) = read_file("de.msg", b'::msgcat::mcset de "walrus" "Walross"\n', Chunking()).passages
    assert passage.text == '::msgcat::mcset de "walrus" "Walross"'
    with pytest.raises(UnreadableFile, match=r"^de\.msg: there is no reader of \.msg files") as caught:
        read_file("de.msg", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), Chunking())
    assert caught.value.reason == "not known"


def test_places() -> None:
    assert [Place(3, 3).format(), Place(3, 9).format(), Place(page=4).format(), Place().format()] == [
        "3",
        "3–9",
        "p. 4",
        "",
    ]


def test_cells_with_paragraphs_stay_in_their_row() -> None:
    data = b"<table><tr><td><p>1</p></td>\n<td><div>2</div></td></tr><tr><td><p>3</p><p>4</p></td></tr></table><p>5</p>"
    texts = [passage.text for passage in read_file("a.html", data, Chunking()).passages]
    assert texts == ["1 | 2\n3\n\n4\n\n5"]
