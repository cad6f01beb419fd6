"""Metadata filters in the widespread dict form, read into a tree of conditions.

{"year": {"$gte": 2020}, "lang": {"$in": ["en", "de"]}}      fields side by side are all to hold
{"$or": [{"lang": "en"}, {"$not": {"draft": True}}]}         a bare value means $eq

A field is a key of the metadata; a dot goes into an object ("author.name"). A list holds if one of its elements does.
Comparisons are within a type: numbers with numbers, strings with strings. `$ne` and `$nin` are the opposite of `$eq`
and `$in`, so that they hold where the field is missing; null equals null alone. An object or an empty list is there
for `$exists`, and has no value.
"""

from __future__ import annotations

import difflib
import json
import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import FilterError

Kind = Literal["null", "boolean", "number", "string", "object", "empty list"]
Value = str | int | float
Sign = Literal["=", ">", ">=", "<", "<=", "any"]
DEEPEST = 50
COMPARISONS: dict[str, Sign] = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
OPERATORS = ("$eq", "$ne", "$in", "$nin", "$exists", "$not", *COMPARISONS)
CONNECTIVES = ("$and", "$or", "$not")


@dataclass(frozen=True)
class Compare:
    """A field has a value of this kind for which `value <sign> given` is true; sign "any": the field is there."""

    field: str
    sign: Sign
    kind: Kind = "null"
    value: Value = 0


@dataclass(frozen=True)
class Every:
    """Every part holds; without parts, always."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Either:
    """Some part holds; without parts, never."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Not:
    """The part does not hold."""

    part: Condition


Condition = Compare | Every | Either | Not


def parse_filter(given: Mapping[str, Any]) -> Condition:
    """A dict as above -> its condition."""
    return _conjunction(given, "the filter", 0)


def canonical(given: Mapping[str, Any]) -> str:
    """One text for equal filters."""
    return json.dumps(given, sort_keys=True, default=dict)  # a Mapping need not be a dict


def stored_value(value: str | float | bool | None) -> tuple[Kind, Value]:
    """A scalar of JSON as it is stored and compared."""
    if value is None:
        return "null", 0
    if isinstance(value, bool):
        return "boolean", int(value)
    if isinstance(value, str):
        return "string", value
    return "number", value


def fields_of(metadata: Mapping[str, Any]) -> set[tuple[str, Kind, Value]]:
    """Every field that a filter can ask for, with its value; a list gives one for each element."""
    found: set[tuple[str, Kind, Value]] = set()

    def visit(name: str, value: Any) -> None:
        if isinstance(value, Mapping):
            found.add((name, "object", 0))
            for key, inner in value.items():
                visit(f"{name}.{key}", inner)
        elif isinstance(value, list | tuple):
            if not value:
                found.add((name, "empty list", 0))
            for element in value:
                visit(name, element)
        else:
            found.add((name, *stored_value(value)))

    for name, value in metadata.items():
        visit(name, value)
    return found


def _conjunction(given: Any, where: str, depth: int) -> Condition:
    if not isinstance(given, Mapping):
        raise FilterError(f'{where} is {_shown(given)}, expected an object such as {{"year": {{"$gte": 2020}}}}')
    _check_depth(depth)
    parts = []
    for name, value in given.items():
        if not isinstance(name, str):
            raise FilterError(f"{where} has the key {_shown(name)}, expected a field's name or an operator")
        if name.startswith("$"):
            parts.append(_connective(name, value, depth + 1))
        else:
            parts.append(_field(name, value, depth + 1))
    return parts[0] if len(parts) == 1 else Every(tuple(parts))


def _connective(name: str, value: Any, depth: int) -> Condition:
    if name == "$not":
        return Not(_conjunction(value, name, depth))
    if name not in CONNECTIVES:
        raise _unknown(name, CONNECTIVES)
    if not isinstance(value, list | tuple) or not value:
        raise FilterError(f"{name} has {_shown(value)}, expected a list of at least one condition")
    parts = tuple(_conjunction(part, name, depth) for part in value)
    return Every(parts) if name == "$and" else Either(parts)


def _field(name: str, value: Any, depth: int) -> Condition:
    _check_depth(depth)
    if not _is_text(name):
        raise FilterError(f"the filter has the field {name!r} with half a character in it")
    if not isinstance(value, Mapping):
        return _comparison(name, "$eq", value, depth)
    if not value:
        raise FilterError(f"field {name!r} has {{}}, expected an operator such as $eq")
    parts = tuple(_comparison(name, operator, operand, depth) for operator, operand in value.items())
    return parts[0] if len(parts) == 1 else Every(parts)


def _comparison(field: str, operator: Any, operand: Any, depth: int) -> Condition:
    if operator not in OPERATORS:
        raise _unknown(operator, OPERATORS)
    if operator == "$not":
        return Not(_field(field, operand, depth + 1))
    if operator == "$exists":
        if not isinstance(operand, bool):
            raise FilterError(f"{field}: $exists has {_shown(operand)}, expected true or false")
        there = Compare(field, "any")
        return there if operand else Not(there)
    if operator in ("$in", "$nin"):
        if not isinstance(operand, list | tuple):
            raise FilterError(f"{field}: {operator} has {_shown(operand)}, expected a list")
        one = Either(tuple(_equal(field, operator, element) for element in operand))
        return one if operator == "$in" else Not(one)
    if operator in ("$eq", "$ne"):
        equal = _equal(field, operator, operand)
        return equal if operator == "$eq" else Not(equal)
    kind, value = _scalar(field, operator, operand)
    if kind not in ("number", "string"):
        raise FilterError(f"{field}: {operator} has {_shown(operand)}, expected a number or a string")
    return Compare(field, COMPARISONS[operator], kind, value)


def _equal(field: str, operator: str, operand: Any) -> Compare:
    return Compare(field, "=", *_scalar(field, operator, operand))


def _scalar(field: str, operator: str, operand: Any) -> tuple[Kind, Value]:
    if operand is not None and not isinstance(operand, str | int | float | bool):
        given = f"a {type(operand).__name__}"
        raise FilterError(f"{field}: {operator} has {given}, expected a string, number, boolean or null")
    if isinstance(operand, float) and not math.isfinite(operand):
        raise FilterError(f"{field}: {operator} has {operand!r}, expected a finite number")
    if isinstance(operand, int) and not -(2**63) <= operand < 2**63:
        raise FilterError(f"{field}: {operator} has {_shown(operand)}, expected a number of up to 64 bits")
    if isinstance(operand, str) and not _is_text(operand):
        raise FilterError(f"{field}: {operator} has a string with half a character in it")
    return stored_value(operand)


def _check_depth(depth: int) -> None:
    if depth > DEEPEST:
        raise FilterError(f"the filter is nested more than {DEEPEST} deep: simplify it")


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(value: Any) -> str:
    """Short, whatever it is."""
    try:
        return reprlib.repr(value)
    except ValueError:  # an integer of thousands of digits, which Python does not print
        return f"a {type(value).__name__}"


def _unknown(name: Any, known: tuple[str, ...]) -> FilterError:
    near = difflib.get_close_matches(str(name), known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(known)}"
    return FilterError(f"the filter has {_shown(name)} where an operator belongs: {hint}")
