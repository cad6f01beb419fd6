"""Documents and queries as checked values."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import DocumentError
from .json_values import to_json_value

LONGEST_ID = 512
DEEPEST = 100  # levels of metadata; SQLite's JSON stops at 1,000
LONGEST_NAME = 1_000  # characters of a field's full name, such as author.name
MOST_VALUES = 10_000  # values, lists and objects in the metadata of one document: each is a row of the catalog
MOST_CHARACTERS = 10_000_000  # of all keys and strings in the metadata
SHOWN = 60  # characters of a value in a message

CONTROL = re.compile(r"[\x00-\x1f\x7f]")
JSON = "JSON (a string, number, boolean, null, list or object)"


@dataclass(frozen=True)
class Document:
    """A text with an id.

    id         up to 512 characters, no control characters, no white space at either end
    text       any Unicode except NUL; may be empty
    title      like text; a model reads it before the text
    metadata   JSON values for filters and for display; the document keeps a copy, in which dates are strings in ISO
               8601. At most 100 levels, 10,000 values, 10 million characters, and 1,000 characters in a field's full
               name, such as author.name
    """

    id: str
    text: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Check every value."""
        _check_id("document", self.id)
        name = f"document {_shorten(self.id)}"
        check_text(name, "text", self.text)
        check_text(name, "title", self.title)
        if not isinstance(self.metadata, dict):
            raise DocumentError(f"{name}: metadata is {_name_type(self.metadata)}, expected a dict")
        object.__setattr__(self, "metadata", _MetadataCopy(name).copy("metadata", self.metadata, 0, 0))

    @property
    def full_text(self) -> str:
        """The title and the text, as a model reads them."""
        return f"{self.title} {self.text}" if self.title else self.text


@dataclass(frozen=True)
class Query:
    """A query with an id; `id` and `text` as in a Document."""

    id: str
    text: str

    def __post_init__(self) -> None:
        """Check both values."""
        _check_id("query", self.id)
        check_text(f"query {_shorten(self.id)}", "text", self.text)


def _shorten(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= SHOWN else shown[: SHOWN - 3] + "..."


def _name_type(value: object) -> str:
    """The type with its article: a str, an int."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _check_id(what: str, value: object) -> None:
    if not isinstance(value, str):
        raise DocumentError(f"the id of a {what} is {_shorten(value)} ({_name_type(value)}), expected a string")
    name = f"{what} {_shorten(value)}"
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


def check_text(name: str, place: str, value: object) -> None:
    """Refuse what is not a text that an index can hold; `name` and `place` begin the message."""
    if not isinstance(value, str):
        raise DocumentError(f"{name}: {place} is {_name_type(value)}, expected a string")
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


class _MetadataCopy:
    """Copies the metadata of one document and checks that they are JSON and not too large."""

    def __init__(self, name: str) -> None:
        """`name` is the document's name in messages."""
        self._name = name
        self._values = 0
        self._characters = 0

    def copy(self, place: str, value: object, level: int, characters: int) -> Any:
        """A deep copy of `value` as JSON; `characters` is the length of its field's full name."""
        value = to_json_value(value)
        self._values += 1
        if self._values > MOST_VALUES:  # also if a value contains itself
            raise DocumentError(f"{self._name}: metadata has more than {MOST_VALUES:,} values, expected at most that")
        if isinstance(value, dict | list):
            if level == DEEPEST:
                raise DocumentError(f"{self._name}: metadata is nested more than {DEEPEST} deep, expected at most that")
            if isinstance(value, list):
                return [self.copy(f"{place}[{i}]", item, level + 1, characters) for i, item in enumerate(value)]
            return {key: self._copy_member(place, key, item, level + 1, characters) for key, item in value.items()}
        if isinstance(value, str):
            _check_unicode(self._name, place, value)
            self._count(value)
        else:
            self._check_scalar(place, value)
        return value

    def _copy_member(self, place: str, key: object, item: object, level: int, characters: int) -> Any:
        """A copy of the value of a key."""
        shown = _shorten(key)
        if not isinstance(key, str):
            raise DocumentError(f"{self._name}: {place} has the key {shown} ({_name_type(key)}), expected a string")
        characters += len(key) + (level > 1)  # a dot
        if characters > LONGEST_NAME:
            where = f"the key {shown} of {place} makes a field's full name of {characters:,} characters"
            raise DocumentError(f"{self._name}: {where}, expected at most {LONGEST_NAME:,}: shorten it")
        _check_unicode(self._name, f"the key {shown} of {place}", key)
        _check_no_nul(self._name, f"the key {shown} of {place}", key)
        self._count(key)
        return self.copy(f"{place}[{shown}]", item, level, characters)

    def _count(self, text: str) -> None:
        self._characters += len(text)
        if self._characters > MOST_CHARACTERS:
            advice = "put searchable text into the document's text"
            raise DocumentError(
                f"{self._name}: metadata has more than {MOST_CHARACTERS:,} characters, expected at most that: {advice}"
            )

    def _check_scalar(self, place: str, value: object) -> None:
        if value is None or isinstance(value, bool):
            return
        if not isinstance(value, int | float):
            raise DocumentError(f"{self._name}: {place} is {_name_type(value)}, expected {JSON}")
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise DocumentError(
                f"{self._name}: {place} is an integer beyond 64 bits, expected a smaller one or a string"
            )
        if isinstance(value, float) and not math.isfinite(value):
            raise DocumentError(f"{self._name}: {place} is {value}, expected a finite number or null")
