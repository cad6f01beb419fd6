"""HTML: sections by headings, blocks by their tags; the parser of the standard library knows the lines."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from html.parser import HTMLParser

from ...errors import UnreadableFile
from .chunking import Chunking
from .outline import Outline
from .packing import Piece, Section, pack_passages
from .passages import Passage, Place
from .source import SourceWriter

HIDDEN = frozenset(("script", "style", "template", "svg", "noscript", "iframe", "nav", "object", "select", "datalist"))
BLOCKS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details"),
        *("div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4"),
        *("h5", "h6", "head", "header", "hr", "html", "li", "main", "ol", "option", "p", "pre", "section"),
        *("summary", "table", "tbody", "tfoot", "thead", "title", "tr", "ul"),
    )
)
CELLS = frozenset(("td", "th"))
INNER = frozenset(("p", "div"))  # around the words of a cell, they do not end its row
HEADINGS = {f"h{level}": level for level in range(1, 7)}
TIGHT = frozenset(("li", "tr", "dt", "dd", "br", "option"))  # follow their neighbours on the next line
MOST_RESUMED = 8  # times that reading goes on after a tag without end
LONGEST_PARSED = 1 << 24  # characters
TAG = re.compile(r"<[^<>]{0,1000}>")
PILCROW = "¶"  # the link beside a heading, in many manuals


def read_html(text: str, chunking: Chunking) -> Iterator[Passage]:
    """The passages of a page; the title of a part before all headings is that of the page."""
    if len(text) > LONGEST_PARSED:
        why = f"a page of {len(text):,} characters, expected at most {LONGEST_PARSED:,}: split it"
        raise UnreadableFile("too large", why)
    reader = HtmlReader(SourceWriter(), Outline(), HIDDEN)
    if reader.read(text):  # what is hidden has no end: it may be the whole page
        reader = HtmlReader(SourceWriter(), Outline(), frozenset(("script", "style")))
        reader.read(text)
    sections = reader.outline.finish()
    if reader.title:
        sections = [Section(s.headings or (reader.title,), s.pieces, s.metadata) for s in sections]
    return pack_passages(reader.writer.finish(), sections, chunking)


class HtmlReader(HTMLParser):
    """Adds the blocks of a page to a source and an outline."""

    def __init__(self, writer: SourceWriter, outline: Outline, hidden: frozenset[str], lines: bool = True) -> None:
        """The content of `hidden` tags is left out; `lines` says whether the places are lines of the page."""
        super().__init__(convert_charrefs=False)
        self.writer, self.outline, self.title = writer, outline, ""
        self._hidden = hidden
        self._lines = lines
        self._inside = ""  # the hidden tag that was opened first
        self._depth = 0  # tags of its name
        self._words: list[str] = []
        self._first = self._last = 0  # lines of the words
        self._block = ""  # the tag that the words belong to
        self._pre = False
        self._cell = self._fresh = False  # in a cell of a table; before its first word

    def read(self, text: str) -> bool:
        """Read a whole page; whether it ended in what is hidden."""
        text = text.replace("<![", "<! ")  # sections of other languages, which the parser may refuse
        self.feed(text)
        for _ in range(MOST_RESUMED):  # close() would do the same without a bound
            rest = self.rawdata
            if not rest:
                break
            self.rawdata = ""
            self.handle_data(rest[0])
            self.lineno, self.offset = self.lineno + (rest[0] == "\n"), self.offset + 1
            self.feed(rest[1:])
        if self.rawdata:
            self.handle_data(TAG.sub(" ", self.rawdata))
        self._flush("")
        return bool(self._inside)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a block, a cell, or what is hidden."""
        if self._inside:
            self._depth += tag == self._inside
        elif tag in self._hidden:
            self._inside, self._depth = tag, 1
        elif tag in CELLS:
            self._cell = self._fresh = True
            if any(word.strip() for word in self._words):
                self._words.append(" | ")
        elif tag in BLOCKS and not (self._fresh and tag in INNER):
            self._flush(tag)
            self._cell = self._cell and tag in INNER
            self._pre = tag == "pre" or (self._pre and tag not in HEADINGS)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A tag that has no content: `<br/>`."""
        if tag in BLOCKS and not self._inside:
            self._flush(tag)

    def handle_endtag(self, tag: str) -> None:
        """End what the tag began."""
        if self._inside:
            self._depth -= tag == self._inside
            self._inside = self._inside if self._depth else ""
        elif tag in BLOCKS and not (self._cell and tag in INNER):
            self._flush("")
            self._cell = False
            self._pre = self._pre and tag != "pre"

    def handle_data(self, data: str) -> None:
        """Collect text and its lines."""
        if self._inside or not (data.strip() or self._words):
            return
        begin = self.getpos()[0] + data[: len(data) - len(data.lstrip())].count("\n")
        self._first = self._first or begin
        if data.strip():
            self._last = self.getpos()[0] + data.rstrip().count("\n")
            self._fresh = False
        self._words.append(data)

    def handle_entityref(self, name: str) -> None:
        """A named character."""
        self.handle_data(html.unescape(f"&{name};"))

    def handle_charref(self, name: str) -> None:
        """A numbered character; never a newline, because lines are counted."""
        self.handle_data(html.unescape(f"&#{name};").replace("\n", " ").replace("\r", " "))

    def _flush(self, next_block: str) -> None:
        """End the block so far: a heading, the page's title, code, or a paragraph."""
        block, words = self._block, "".join(self._words)
        place = Place(self._first, self._last) if self._lines else Place()
        self._words, self._first, self._last = [], 0, 0
        self._block = next_block
        text = words.strip("\n").rstrip() if self._pre else " ".join(words.split())
        if not text.strip():
            return
        if block == "title":
            self.title = self.title or text[:1000]
        elif block in HEADINGS:
            text = text.removesuffix(PILCROW).strip()
            self.outline.add_heading(HEADINGS[block], text, *self.writer.add(text, place))
        else:
            tight = block in TIGHT or self._pre
            span = self.writer.add(("- " if block == "li" else "") + text, place, "\n" if tight else "\n\n")
            cut = "whole" if self._pre else "sentences"
            self.outline.add(Piece(*span, cut))  # type: ignore[arg-type]  # mypy widens the literal
