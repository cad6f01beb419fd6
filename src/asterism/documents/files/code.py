"""Source code: definitions of Python by its own parser, of other languages by blank lines and indentation."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

from .chunking import Chunking
from .cutting import split_lines
from .packing import Piece, Section, pack_passages
from .passages import Passage
from .source import Source, read_as_lines

LONGEST_PARSED = 1 << 21  # characters
CONTINUES = frozenset(" \t\n\f})]")  # first characters of lines that do not begin a block

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def read_code(text: str, chunking: Chunking) -> Iterator[Passage]:
    """The passages of a source file: what stands between blank lines, cut before lines that are not indented."""
    return pack_passages(read_as_lines(text), [Section((), list(_split_blocks(text)))], chunking)


def read_python(text: str, chunking: Chunking) -> Iterator[Passage]:
    """The passages of a Python file: each function and method, the head of each class, and what is between them."""
    try:
        with warnings.catch_warnings():  # escapes such as "\\d" in old files
            warnings.simplefilter("ignore")
            tree = ast.parse(text if len(text) <= LONGEST_PARSED else "(")
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # Python 2, templates, nesting without end
        return read_code(text, chunking)
    source = read_as_lines(text)
    sections = _Definitions(source)
    sections.add_body((), tree.body, len(source.starts))
    return pack_passages(source, sections.found, chunking)


def _split_blocks(text: str) -> Iterator[Piece]:
    """Pieces that begin after a blank line with a line that is not indented and closes nothing."""
    begin, after_blank = 0, False
    for line, end in split_lines(text, 0, len(text)):
        if after_blank and text[line] not in CONTINUES and begin < line:
            yield Piece(begin, line, "lines")
            begin = line
        after_blank = not text[line:end].strip()
    if begin < len(text):
        yield Piece(begin, len(text), "lines")


class _Definitions:
    """Collects a section for each definition, and for the lines before, between and after them."""

    def __init__(self, source: Source) -> None:
        self.found: list[Section] = []
        self._source = source
        self._done = 0  # lines

    def add_body(self, names: tuple[str, ...], body: list[ast.stmt], end: int) -> None:
        """The statements of a module or class, whose last line is `end`."""
        for node in body:
            if not isinstance(node, Definition):
                continue
            self._add(names, self._find_first_line(node) - 1)
            inner = (*names, node.name)
            last = node.end_lineno or node.lineno
            if isinstance(node, ast.ClassDef):
                self.add_body(inner, node.body, last)
            self._add(inner, last)
        self._add(names, end)

    def _find_first_line(self, node: Definition) -> int:
        """The line of its first decorator, or of a comment directly above it."""
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        while first - 1 > self._done and self._get_line(first - 1).lstrip().startswith("#"):
            first -= 1
        return first

    def _get_line(self, number: int) -> str:
        starts = self._source.starts
        return self._source.text[starts[number - 1] : starts[number]]

    def _add(self, names: tuple[str, ...], last: int) -> None:
        """A section of the lines that are not in one yet, up to `last`."""
        if last > self._done:
            starts = self._source.starts
            end = starts[last] if last < len(starts) else len(self._source.text)
            self.found.append(Section(names, [Piece(starts[self._done], end, "lines")]))
            self._done = last
