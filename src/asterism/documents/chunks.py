"""A long text in chunks of whole paragraphs, sentences or words, in any language."""

from __future__ import annotations

import re
from collections.abc import Iterator

Span = tuple[int, int]

CHUNK = 1200  # the most characters of a chunk
OVERLAP = CHUNK // 4  # a last paragraph of at most this many characters is repeated in the next chunk

BLANK_LINES = re.compile(r"\n\s*\n")
SENTENCE_END = re.compile(r"[.!?…][\"'”’»)\]]*(?=\s)|[。！？][」』”’）]*")
SPACES = re.compile(r"\s*")
HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(\S.*)")


def find_first_heading(content: str) -> str:
    """The text of the first markdown heading (# ...) outside fenced code, or an empty string."""
    fenced = False
    for line in content.removeprefix("\ufeff").split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        heading = None if fenced else HEADING.match(line)
        if heading:
            text = heading[1].rstrip()
            open_end = text.rstrip("#")
            return open_end.rstrip() if open_end.endswith((" ", "\t")) else text
    return ""


def cut_chunks(content: str) -> list[Span]:
    """Spans of at most CHUNK characters, made of paragraphs; a short last paragraph is repeated in the next span."""
    pieces = [piece for paragraph in _find_paragraphs(content) for piece in _cut_paragraph(content, *paragraph)]
    chunks = []
    first = 0
    while first < len(pieces):
        begin = pieces[first][0]
        after = first + 1
        while after < len(pieces) and pieces[after][1] - begin <= CHUNK:
            after += 1
        chunks.append((begin, pieces[after - 1][1]))
        last_begin, last_end = pieces[after - 1]
        repeat = after < len(pieces) and last_end - last_begin <= OVERLAP and pieces[after][1] - last_begin <= CHUNK
        first = after - 1 if repeat else after
    return chunks


def _find_paragraphs(content: str) -> Iterator[Span]:
    """The spans between blank lines, without white space at both ends."""
    begin = 1 if content.startswith("\ufeff") else 0
    ends = [(match.start(), match.end()) for match in BLANK_LINES.finditer(content)]
    for end, next_begin in [*ends, (len(content), len(content))]:
        span = _trim(content, begin, end)
        if span[0] < span[1]:
            yield span
        begin = next_begin


def _trim(content: str, begin: int, end: int) -> Span:
    text = content[begin:end]
    return end - len(text.lstrip()), begin + len(text.rstrip())


def _skip_spaces(content: str, position: int) -> int:
    match = SPACES.match(content, position)
    return match.end() if match else position


def _cut_paragraph(content: str, begin: int, end: int) -> Iterator[Span]:
    """A paragraph in spans of at most CHUNK characters, cut after a sentence, else after a word, else anywhere."""
    while end - begin > CHUNK:
        cut = begin + _find_cut(content[begin : begin + CHUNK + 1])
        yield _trim(content, begin, cut)
        begin = _skip_spaces(content, cut)
    yield begin, end


def _find_cut(text: str) -> int:
    """Where to cut CHUNK + 1 characters that do not begin with white space: from 1 to CHUNK."""
    sentences = [match.end() for match in SENTENCE_END.finditer(text) if match.end() <= CHUNK]
    if sentences and sentences[-1] >= CHUNK // 2:
        return sentences[-1]
    spaces = [i for i, character in enumerate(text) if character.isspace()]
    return max(sentences[-1:] + spaces[-1:], default=CHUNK)
