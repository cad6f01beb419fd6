"""The conditions of a metadata filter on a document's fields.

A field is a key of the metadata; a dot goes into an object ("author.name"). A list matches if one of its elements does.
Comparisons are within a type: numbers with numbers, strings with strings, by code points; null equals only null.
`$exists` is true for an object or an empty list. An object has no value to compare, an empty list equals only another.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["null", "boolean", "number", "string", "object", "empty list"]
Value = str | int | float
Sign = Literal[">", ">=", "<", "<=", "prefix", "contains", "any"]
Fields = dict[str, list[tuple[Kind, Value]]]

EMPTY_LIST: tuple[Kind, Value] = ("empty list", 0)

SIGNS: dict[Sign, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "prefix": str.startswith,
    "contains": operator.contains,
}


@dataclass(frozen=True)
class Compare:
    """A field has a value of this kind for which `value <sign> given` is true; sign "any": the field exists.

    "prefix" and "contains" are of strings: what they begin with, or have somewhere.
    """

    field: str
    sign: Sign
    kind: Kind = "null"
    value: Value = 0


@dataclass(frozen=True)
class OneOf:
    """A field has one of these values; false without values."""

    field: str
    values: frozenset[tuple[Kind, Value]]


@dataclass(frozen=True)
class Every:
    """Every part is true; true without parts."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Either:
    """At least one part is true; false without parts."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Not:
    """The part is false."""

    part: Condition


Condition = Compare | OneOf | Every | Either | Not


def to_stored_value(value: str | float | bool | None) -> tuple[Kind, Value]:
    """A JSON scalar in the form in which it is stored and compared."""
    if value is None:
        return "null", 0
    if isinstance(value, bool):
        return "boolean", int(value)
    if isinstance(value, str):
        return "string", value
    return "number", value


def list_fields(metadata: Mapping[str, Any]) -> set[tuple[str, Kind, Value]]:
    """Every field that a filter can test, with its value; a list gives one entry per element."""
    found: set[tuple[str, Kind, Value]] = set()

    def visit(name: str, value: Any) -> None:
        if isinstance(value, Mapping):
            found.add((name, "object", 0))
            for key, inner in value.items():
                visit(f"{name}.{key}", inner)
        elif isinstance(value, list | tuple):
            if not value:
                found.add((name, *EMPTY_LIST))
            for element in value:
                visit(name, element)
        else:
            found.add((name, *to_stored_value(value)))

    for name, value in metadata.items():
        visit(name, value)
    return found


def is_fulfilled(condition: Condition, metadata: Mapping[str, Any]) -> bool:
    """Whether the condition is true for a document with these metadata; agrees with the catalog's search."""
    fields: Fields = {}
    for name, kind, value in list_fields(metadata):
        fields.setdefault(name, []).append((kind, value))
    return _holds(condition, fields)


def _holds(condition: Condition, fields: Fields) -> bool:
    if isinstance(condition, Every):
        return all(_holds(part, fields) for part in condition.parts)
    if isinstance(condition, Either):
        return any(_holds(part, fields) for part in condition.parts)
    if isinstance(condition, Not):
        return not _holds(condition.part, fields)
    values = fields.get(condition.field, [])
    if isinstance(condition, OneOf):
        return any(value in condition.values for value in values)
    if condition.sign == "any":
        return bool(values)
    holds = SIGNS[condition.sign]
    return any(kind == condition.kind and holds(value, condition.value) for kind, value in values)
