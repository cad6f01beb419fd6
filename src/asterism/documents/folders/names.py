r"""Names of files as text: what an id or a line of output cannot hold is escaped, so that two names stay two names.

A newline becomes \x0a, a byte that is not UTF-8 \xff, and the backslash itself is doubled.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable

from ..document import LONGEST_ID

ODD = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff]|^\s|\s$")
ESCAPED = re.compile(r"\\\\|\\x([0-9a-f]{2})|\\u([0-9a-f]{4})")
PASSAGE = re.compile(r"(.*)#([1-9][0-9]{0,9})", re.DOTALL)
LONGEST_STEM = LONGEST_ID - 32  # leaves room for the number of a passage
KEPT = 200  # characters of a longer name that stay at each end


def escape_name(name: str) -> str:
    """A path as the system gives it -> text that can be written as UTF-8, in one line."""
    return ODD.sub(_escape, name)


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character == "\\":
        return "\\\\"
    if "\udc80" <= character <= "\udcff":  # how Python decodes a byte that is not UTF-8
        return f"\\x{ord(character) - 0xDC00:02x}"
    return f"\\x{ord(character):02x}" if ord(character) < 128 else f"\\u{ord(character):04x}"


def unescape_name(name: str) -> str:
    """What `escape_name` was given; for text that it did not make, something."""
    return ESCAPED.sub(_unescape, name)


def _unescape(found: re.Match[str]) -> str:
    if found[0] == "\\\\":
        return "\\"
    code = int(found[1] or found[2], 16)
    return chr(0xDC00 + code if found[1] and code > 127 else code)


def make_stem(file: str) -> str:
    """The escaped name of a file -> what the ids of its passages begin with: the name, or its ends if it is long."""
    if len(file) <= LONGEST_STEM:
        return file
    return f"{file[:KEPT]}…{hashlib.sha256(file.encode()).hexdigest()[:32]}…{file[-KEPT:].lstrip()}"


def make_passage_id(file: str, place: int) -> str:
    """The id of a file's passage; places count from 1."""
    return f"{make_stem(file)}#{place}"


def split_passage_id(id: str) -> tuple[str, int]:
    """The stem and the place of a passage's id; the whole id and 0 if it is no passage's."""
    found = PASSAGE.fullmatch(id)
    return (found[1], int(found[2])) if found else (id, 0)


def find_owner(id: str, folders: Iterable[str]) -> str | None:
    """The name of the folder for whose passages an id is kept; None for any other id."""
    if not split_passage_id(id)[1]:
        return None
    return next((name for name in folders if id.startswith(f"{name}/")), None)


def is_passage_of(file: object, place: object, id: str) -> bool:
    """Whether an id is that of a file's passage; `file` and `place` are what a document's metadata say of it."""
    return isinstance(file, str) and type(place) is int and make_passage_id(file, place) == id


def escape_path(path: str | os.PathLike[str]) -> str:
    """An absolute path as text."""
    return escape_name(os.fspath(path))
