"""Where a long text is cut: after sentences, lines or words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .chunking import RUN, weigh, weigh_run

Span = tuple[int, int]

SENTENCE_END = re.compile(r"[.!?…][\"'”’»)\]]*(?=\s)|[。！？][」』”’）]*")
LINE = re.compile(r"[^\n]*\n|[^\n]+$")


def split_sentences(text: str, begin: int, end: int) -> Iterator[Span]:
    """Spans that together are the whole span; each ends after a sentence."""
    for found in SENTENCE_END.finditer(text, begin, end):
        yield begin, found.end()
        begin = found.end()
    if begin < end:
        yield begin, end


def split_lines(text: str, begin: int, end: int) -> Iterator[Span]:
    """The lines of a span, each with its newline."""
    return (found.span() for found in LINE.finditer(text, begin, end))


def cut_after_sentences(text: str, begin: int, end: int, limit: int) -> Iterator[Span]:
    """Spans of at most `limit` weight that together are the whole span; cut in a sentence only if it is too long."""
    return _join(_weigh_all(text, split_sentences(text, begin, end), limit), limit)


def cut_after_lines(text: str, begin: int, end: int, limit: int) -> Iterator[Span]:
    """The same for code and tables: cut before a blank line if the part is at least half full, else at any line."""
    first = begin
    blank = 0  # the last blank line that is a good place to cut
    weight = since_blank = 0
    for (line, line_end), added in _weigh_all(text, split_lines(text, begin, end), limit):
        if weight + added > limit:
            cut = blank if blank > first else line
            yield first, cut
            weight = since_blank if cut == blank else 0
            first, blank, since_blank = cut, 0, 0
        if not text[line:line_end].strip() and 2 * weight >= limit:
            blank, since_blank = line, 0
        weight += added
        since_blank += added
    if first < end:
        yield first, end


def cut_after_words(text: str, begin: int, end: int, limit: int) -> Iterator[Span]:
    """The same for a sentence: cut before a word, in it only if it has more than 24 letters."""
    weight = 0
    for found in RUN.finditer(text, begin, end):
        added = weigh_run(found)
        if weight and weight + added > limit:
            yield begin, found.start()
            begin, weight = found.start(), 0
        weight += added
    yield begin, end


def find_tail(text: str, begin: int, end: int, limit: int, lines: bool) -> int:
    """Where the last sentences, or lines, of at most `limit` weight begin; `end` if the last one is too long."""
    splits = split_lines(text, begin, end) if lines else split_sentences(text, begin, end)
    tail, weight = end, 0
    for first, last in reversed(list(splits)):
        weight += weigh(text, first, last)
        if weight > limit:
            break
        tail = first
    return tail


def _weigh_all(text: str, spans: Iterable[Span], limit: int) -> Iterator[tuple[Span, int]]:
    """Spans with their weights; those above the limit are cut."""
    for begin, end in spans:
        weight = weigh(text, begin, end)
        if weight <= limit:
            yield (begin, end), weight
        else:
            for first, last in cut_after_words(text, begin, end, limit):
                yield (first, last), weigh(text, first, last)


def _join(weighed: Iterable[tuple[Span, int]], limit: int) -> Iterator[Span]:
    """Neighbours joined while they are within the limit."""
    joined: Span | None = None
    weight = 0
    for (begin, end), added in weighed:
        if joined and weight + added <= limit:
            joined, weight = (joined[0], end), weight + added
        else:
            if joined:
                yield joined
            joined, weight = (begin, end), added
    if joined:
        yield joined
