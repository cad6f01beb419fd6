"""Documents and queries: checked values, whatever they were read from."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import DocumentError

LONGEST_ID = 512
DEEPEST = 100  # levels of metadata; SQLite's JSON stops at 1,000
SHOWN = 60  # characters of a value in a message

CONTROL = re.compile(r"[\x00-\x1f\x7f]")
JSON = "JSON (a string, number, boolean, null, list or object)"


@dataclass(frozen=True)
class Document:
    """A text with a name.

    id         up to 512 characters, no control characters, no white space at either end
    text       any Unicode but NUL; may be empty
    title      likewise; a model reads it before the text
    metadata   what JSON can hold, for filters and for display; the document keeps a copy
    """

    id: str
    text: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Check every value."""
        _check_id("document", self.id)
        name = f"document {_short(self.id)}"
        _check_text(name, "text", self.text)
        _check_text(name, "title", self.title)
        if not isinstance(self.metadata, dict):
            raise DocumentError(f"{name}: metadata is {_kind(self.metadata)}, expected a dict")
        object.__setattr__(self, "metadata", _json_copy(name, "metadata", self.metadata, DEEPEST))

    @property
    def full_text(self) -> str:
        """What a model reads."""
        return f"{self.title} {self.text}" if self.title else self.text


@dataclass(frozen=True)
class Query:
    """A question with a name: `id` and `text` as in a Document."""

    id: str
    text: str

    def __post_init__(self) -> None:
        """Check both values."""
        _check_id("query", self.id)
        _check_text(f"query {_short(self.id)}", "text", self.text)


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= SHOWN else shown[: SHOWN - 3] + "..."


def _kind(value: object) -> str:
    """The type with its article: a str, an int."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _check_id(what: str, value: object) -> None:
    if not isinstance(value, str):
        raise DocumentError(f"the id of a {what} is {_short(value)} ({_kind(value)}), expected a string")
    name = f"{what} {_short(value)}"
    if not value:
        raise DocumentError(f"{name}: the id is empty, expected at least one character")
    if len(value) > LONGEST_ID:
        raise DocumentError(f"{name}: the id has {len(value)} characters, expected at most {LONGEST_ID}")
    control = CONTROL.search(value)
    if control:
        raise DocumentError(f"{name}: the id has the control character {control[0]!r}, expected none")
    if value != value.strip():
        raise DocumentError(f"{name}: the id begins or ends with white space, expected none there")
    _check_unicode(name, "the id", value)


def _check_text(name: str, place: str, value: object) -> None:
    if not isinstance(value, str):
        raise DocumentError(f"{name}: {place} is {_kind(value)}, expected a string")
    _check_unicode(name, place, value)
    _check_no_nul(name, place, value)


def _check_unicode(name: str, place: str, value: str) -> None:
    if value.isascii():
        return
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise DocumentError(
            f"{name}: {place} has half a surrogate pair, {value[error.start]!r}, at character {error.start}, "
            "expected text that can be written as UTF-8: remove it"
        ) from None


def _check_no_nul(name: str, place: str, value: str) -> None:
    at = value.find("\0")
    if at >= 0:
        raise DocumentError(f"{name}: {place} has a NUL at character {at}, expected none: remove it")


def _json_copy(name: str, place: str, value: object, levels: int) -> Any:
    """A copy of `value` that shares nothing with it, if it is JSON of at most so many levels."""
    if isinstance(value, str):
        _check_unicode(name, place, value)
        return value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise DocumentError(f"{name}: {place} is an integer beyond 64 bits, expected a smaller one or a string")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise DocumentError(f"{name}: {place} is {value}, expected a finite number or null")
        return value
    if not isinstance(value, dict | list):
        raise DocumentError(f"{name}: {place} is {_kind(value)}, expected {JSON}")
    if levels == 0:
        raise DocumentError(f"{name}: metadata is nested more than {DEEPEST} deep, expected at most that")
    if isinstance(value, list):
        return [_json_copy(name, f"{place}[{i}]", item, levels - 1) for i, item in enumerate(value)]
    for key in value:
        if not isinstance(key, str):
            raise DocumentError(f"{name}: {place} has the key {_short(key)} ({_kind(key)}), expected a string")
        _check_unicode(name, f"the key {_short(key)} of {place}", key)
        _check_no_nul(name, f"the key {_short(key)} of {place}", key)
    return {key: _json_copy(name, f"{place}[{_short(key)}]", item, levels - 1) for key, item in value.items()}
