"""Markdown: sections by headings, blocks by markdown-it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from .chunking import Chunking
from .front_matter import read_front_matter
from .outline import Outline
from .packing import Cut, Piece, Section, pack_passages, shorten_heading
from .passages import Passage
from .source import read_as_lines

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LONGEST_PARSED = 1 << 21  # characters: the parser takes seconds for each million
LONGEST_INLINE = 1000  # characters of a heading of which emphasis and links are removed
BLOCKS: dict[str, Cut] = {
    "paragraph_open": "sentences",
    "fence": "whole",
    "code_block": "whole",
    "html_block": "lines",
    "table_open": "lines",
    "hr": "sentences",
}


def read_markdown(text: str, chunking: Chunking) -> Iterator[Passage]:
    """The passages of a Markdown file; its front matter is the metadata of all."""
    source = read_as_lines(text)
    metadata, begin = read_front_matter(text)
    first = text.count("\n", 0, begin)
    title = metadata.get("title")
    outline = Outline((shorten_heading(title),) if isinstance(title, str) and title.strip() else (), metadata)
    add_markdown(outline, text[begin:], [*source.starts[first:], len(text)])
    sections = [_drop_repeated_title(section) for section in outline.finish()]
    return pack_passages(source, sections, chunking)


def add_markdown(outline: Outline, text: str, starts: list[int]) -> None:
    """Add the headings and blocks of a text; `starts` has where its lines begin in the source, and where it ends."""
    if len(text) > LONGEST_PARSED:
        outline.add(Piece(starts[0], starts[-1]))
        return
    tokens = _make_parser().parse(text)
    before = starts[0]  # what no block owns, such as the targets of links, goes with the next one
    for number, token in enumerate(tokens):
        if token.map is None:
            continue
        begin, end = starts[token.map[0]], starts[min(token.map[1], len(starts) - 1)]
        if token.type == "heading_open" and token.level == 0:
            _add_rest(outline, text, before - starts[0], Piece(before, begin))
            outline.add_heading(int(token.tag[1:]), _read_heading(tokens[number + 1]), begin, end)
            before = end
        elif token.type in BLOCKS or token.type == "heading_open":
            outline.add(Piece(before, end, BLOCKS.get(token.type, "sentences")))
            before = end
    _add_rest(outline, text, before - starts[0], Piece(before, starts[-1]))


def _add_rest(outline: Outline, text: str, begin: int, rest: Piece) -> None:
    """Add what no block owns, and stands before a heading or at the end; `begin` is where it begins in the text."""
    if text[begin : begin + rest.end - rest.begin].strip():
        outline.add(rest)


@cache
def _make_parser() -> MarkdownIt:
    """A parser of blocks alone: what stands in them is read as it is."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


@cache
def _make_inline_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark")


def _read_heading(inline: Token) -> str:
    """The text of a heading without emphasis, code marks and targets of links."""
    if len(inline.content) > LONGEST_INLINE:
        return inline.content
    (token,) = _make_inline_parser().parseInline(inline.content)
    words = [
        child.content or " " * (child.type == "softbreak")
        for child in token.children or []
        if child.type != "html_inline"
    ]
    return "".join(words).strip() or inline.content


def _drop_repeated_title(section: Section) -> Section:
    """A title in the front matter is often the first heading too."""
    headings = section.headings
    if len(headings) > 1 and headings[0] == headings[1]:
        return Section(headings[1:], section.pieces, section.metadata)
    return section
