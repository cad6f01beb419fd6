"""Checked access to the values of an index's JSON: a wrong type or range is damage, reported with its location.

A valid checksum proves nothing if the index comes from an untrusted source.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

from ..errors import DamagedIndex, InputError
from .faults import damaged

FileFacts = dict[str, dict[str, int]]  # name -> bytes, crc32

LARGEST = 2**62

T = TypeVar("T")


class Facts:
    """A JSON object and its location."""

    def __init__(self, content: object, where: str) -> None:
        """Messages begin with `where`."""
        if not isinstance(content, dict):
            raise damaged(where, f"holds {reprlib.repr(content)}, expected an object")
        self.content: dict[str, Any] = content
        self.where = where

    def has(self, key: str) -> bool:
        """Whether the key has a value that is not null."""
        return self.content.get(key) is not None

    def whole(self, key: str, least: int = 0, most: int = LARGEST) -> int:
        """A whole number from `least` to `most`."""
        value = self._value(key)
        if type(value) is not int or not least <= value <= most:
            raise self._unexpected(key, f"a whole number from {least} to {most}")
        return value

    def number(self, key: str, most: float) -> float:
        """A number from -`most` to `most`."""
        value = self._value(key)
        if type(value) not in (int, float) or not -most <= value <= most:  # NaN is not between them
            raise self._unexpected(key, f"a number from {-most:g} to {most:g}")
        return float(value)

    def text(self, key: str, choices: Collection[str] | None = None) -> str:
        """A string; one of `choices` if they are given."""
        value = self._value(key)
        if not isinstance(value, str) or (choices is not None and value not in choices):
            raise self._unexpected(key, "a string" if choices is None else f"one of {', '.join(map(repr, choices))}")
        return value

    def flag(self, key: str) -> bool:
        """True or false."""
        value = self._value(key)
        if not isinstance(value, bool):
            raise self._unexpected(key, "true or false")
        return value

    def part(self, key: str) -> Facts:
        """A nested object."""
        return Facts(self._value(key), f"{self.where}: {key!r}")

    def parts(self, key: str) -> list[Facts]:
        """A list of objects."""
        value = self._value(key)
        if not isinstance(value, list):
            raise self._unexpected(key, "a list")
        return [Facts(item, f"{self.where}: {key}[{i}]") for i, item in enumerate(value)]

    def read(self, key: str, reader: Callable[[dict[str, Any]], T]) -> T:
        """Pass a nested object to `reader` and return its result; an object that it refuses is damage."""
        part = self.part(key)
        try:
            return reader(part.content)
        except (InputError, TypeError, KeyError, ValueError) as error:
            raise damaged(part.where, f"is not as expected ({error})") from error

    def files(self, names: Iterable[str]) -> FileFacts:
        """Size and checksum of each file; exactly the files `names` must be listed."""
        listed, wanted = self.part("files"), set(names)
        if set(listed.content) != wanted:
            odd = sorted(map(str, set(listed.content) ^ wanted))
            raise damaged(listed.where, f"lists other files than expected ({', '.join(odd[:4])})")
        entries = {name: listed.part(name) for name in sorted(wanted)}
        return {
            name: {"bytes": entry.whole("bytes"), "crc32": entry.whole("crc32", most=2**32 - 1)}
            for name, entry in entries.items()
        }

    def _value(self, key: str) -> Any:
        if key not in self.content:
            raise damaged(self.where, f"has no {key!r}")
        return self.content[key]

    def _unexpected(self, key: str, expected: str) -> DamagedIndex:
        shown = reprlib.repr(self.content[key])
        return damaged(self.where, f"has {shown} as {key!r}, expected {expected}")
