"""JSON: lines, arrays and objects."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from ...errors import UnreadableFile
from ...files.json_text import parse_json
from .chunking import Chunking
from .packing import Piece, Section, pack_passages
from .passages import Passage, Place
from .records import pack_records, write_lines
from .source import SourceWriter, read_as_lines
from .text import read_text

SPACES = re.compile(r"[ \t\n\r]*")

Member = tuple[str, Any, int, int]  # key (empty in an array), value, where it begins and ends


class NotJson(ValueError):
    """A text that is not JSON, or is nested too deeply."""


def read_json(text: str, chunking: Chunking) -> Iterator[Passage]:
    """An array of objects is records, anything else is lines of `name: value`; what is not JSON is read as text.

    Records on lines of their own may have this ending too. Configurations often have comments, which JSON has not.
    """
    try:
        members = split_members(text)
    except NotJson:
        try:
            return read_jsonl(text, chunking)
        except UnreadableFile:
            return read_text(text, chunking)
    locate = Lines(text).locate
    if all(not key and isinstance(value, dict) for key, value, _, _ in members):
        return pack_records([(value, locate(begin, end)) for _, value, begin, end in members], chunking)
    writer = SourceWriter()
    pieces = [
        Piece(*writer.add(line, locate(begin, end), "\n"), "lines")
        for key, value, begin, end in members
        for line in write_lines(key, value)
    ]
    return pack_passages(writer.finish(), [Section((), pieces)], chunking)


def read_jsonl(text: str, chunking: Chunking) -> Iterator[Passage]:
    """One record a line."""
    records = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                records.append((parse_json(line), Place(number, number)))
            except ValueError as error:
                why = f"line {number:,} is not usable JSON ({error})"
                raise UnreadableFile("damaged", f"{why}, expected one JSON value a line: correct it") from error
    return pack_records(records, chunking)


class Lines:
    """Turns positions in a text into lines."""

    def __init__(self, text: str) -> None:
        """`text` is the whole file."""
        self._starts = read_as_lines(text).starts

    def locate(self, begin: int, end: int) -> Place:
        """The lines of a span."""
        return Place(bisect_right(self._starts, begin), bisect_right(self._starts, max(begin, end - 1)))


def split_members(text: str, at: int = 0) -> list[Member]:
    """The members of the array or object that begins at `at`, parsed one by one, so that their places are known."""
    decoder = json.JSONDecoder()
    at = _skip(text, at)
    kind = text[at : at + 1]
    if kind not in ("[", "{"):
        raise NotJson("neither an array nor an object")
    closing = "]" if kind == "[" else "}"
    members: list[Member] = []
    position = _skip(text, at + 1)
    try:
        while text[position : position + 1] != closing:
            key, begin = "", position
            if kind == "{":
                key, position = decoder.raw_decode(text, position)
                position = _expect(text, position, ":")
            begin_value = position if kind == "[" else begin
            value, end = decoder.raw_decode(text, position)
            members.append((str(key) or "?" if kind == "{" else "", value, begin_value, end))
            position = _skip(text, end)
            if text[position : position + 1] != closing:
                position = _expect(text, position, ",")
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from None
    if at == 0 or not text[:at].strip():
        _expect_end(text, position + 1)
    return members


def _skip(text: str, at: int) -> int:
    found = SPACES.match(text, at)
    return found.end() if found else at


def _expect(text: str, at: int, sign: str) -> int:
    """The position after a sign and the white space around it."""
    at = _skip(text, at)
    if text[at : at + 1] != sign:
        raise NotJson(f"no {sign!r} at character {at}")
    return _skip(text, at + 1)


def _expect_end(text: str, at: int) -> None:
    if _skip(text, at) < len(text):
        raise NotJson("more than one value")
