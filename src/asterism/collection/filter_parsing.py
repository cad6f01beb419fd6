"""Parses metadata filters, in the common MongoDB-like dict form, into conditions.

{"year": {"$gte": 2020}, "lang": {"$in": ["en", "de"]}}      all fields must match
{"$or": [{"lang": "en"}, {"$not": {"draft": True}}]}         a bare value means $eq
{"path": {"$prefix": "notes/"}, "title": {"$contains": "fox"}}  of strings, as they are written

`$ne` and `$nin` are the negations of `$eq` and `$in`, so they are true if the field is missing. filters.py defines
what the conditions mean.
"""

from __future__ import annotations

import difflib
import json
import math
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..documents.document import LONGEST_NAME
from ..documents.json_values import to_json_value
from ..errors import FilterError
from .filters import EMPTY_LIST, Compare, Condition, Either, Every, Kind, Not, OneOf, Sign, Value, to_stored_value

DEEPEST = 50
MOST_CONDITIONS = 10_000  # each may read every document
MOST_VALUES = 100_000  # each is looked up in the catalog
COMPARISONS: dict[str, Sign] = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
OF_EQUALITY = ("$eq", "$ne", "$in", "$nin")
OF_STRINGS: dict[str, Sign] = {"$prefix": "prefix", "$contains": "contains"}
OPERATORS = (*OF_EQUALITY, "$exists", "$not", *COMPARISONS, *OF_STRINGS)
SYNONYMS = {  # what other systems call them
    **dict.fromkeys(("$startswith", "$startsWith", "$begins_with", "$beginsWith"), "$prefix"),
    **dict.fromkeys(("$like", "$ilike", "$regex", "$text", "$substring", "$includes", "$match"), "$contains"),
    **dict.fromkeys(("$any", "$oneOf", "$one_of", "$anyOf"), "$in"),
    **dict.fromkeys(("==", "=", "$is"), "$eq"),
    **dict.fromkeys(("!=", "<>"), "$ne"),
    **dict.fromkeys(("$nor", "!"), "$not"),
    **dict.fromkeys(("&&", "$all", "$must"), "$and"),
    **dict.fromkeys(("||", "$should"), "$or"),
    ">": "$gt",
    ">=": "$gte",
    "<": "$lt",
    "<=": "$lte",
    "$ge": "$gte",
    "$le": "$lte",
}
CONNECTIVES = ("$and", "$or", "$not")


def parse_filter(given: Mapping[str, Any]) -> Condition:
    """A filter dict -> its condition."""
    condition = _parse_conjunction(given, "the filter", 0)
    _check_size(condition)
    return condition


def to_canonical_text(given: Mapping[str, Any]) -> str:
    """The same text for equal filters."""
    return json.dumps(given, sort_keys=True, default=_to_plain)


def _to_plain(value: Any) -> Any:
    """What json cannot write: a Mapping that is no dict, a date, a number of NumPy."""
    return dict(value) if isinstance(value, Mapping) else to_json_value(value)


def _parse_conjunction(given: Any, where: str, depth: int) -> Condition:
    if not isinstance(given, Mapping):
        raise FilterError(f'{where} is {_shorten(given)}, expected an object such as {{"year": {{"$gte": 2020}}}}')
    _check_depth(depth)
    parts = []
    for name, value in given.items():
        if not isinstance(name, str):
            raise FilterError(f"{where} has the key {_shorten(name)}, expected a field's name or an operator")
        if name.startswith("$"):
            parts.append(_parse_connective(name, value, depth + 1))
        else:
            parts.append(_parse_field(name, value, depth + 1))
    return parts[0] if len(parts) == 1 else Every(tuple(parts))


def _parse_connective(name: str, value: Any, depth: int) -> Condition:
    if name == "$not":
        return Not(_parse_conjunction(value, name, depth))
    if name not in CONNECTIVES:
        raise _make_unknown_error(name, CONNECTIVES)
    if not isinstance(value, list | tuple) or not value:
        raise FilterError(f"{name} has {_shorten(value)}, expected a list of at least one condition")
    parts = tuple(_parse_conjunction(part, name, depth) for part in value)
    return Every(parts) if name == "$and" else Either(tuple(_merge_values(parts)))


def _merge_values(parts: Iterable[Condition]) -> Iterator[Condition]:
    """The parts of an $or, with all values of the same field merged into one condition."""
    values: dict[str, set[tuple[Kind, Value]]] = {}
    for part in parts:
        if isinstance(part, OneOf):
            values.setdefault(part.field, set()).update(part.values)
        else:
            yield part
    for field, wanted in values.items():
        yield OneOf(field, frozenset(wanted))


def _parse_field(name: str, value: Any, depth: int) -> Condition:
    _check_depth(depth)
    if len(name) > LONGEST_NAME:
        raise FilterError(f"the filter has a field of {len(name):,} characters, expected at most {LONGEST_NAME:,}")
    if not _is_text(name):
        raise FilterError(f"the filter has the field {_shorten(name)} with half a surrogate pair, expected valid text")
    if not isinstance(value, Mapping):
        return _parse_comparison(name, "$eq", value, depth)
    if not value:
        raise FilterError(f"field {name!r} has {{}}, expected an operator such as $eq")
    parts = tuple(_parse_comparison(name, operator, operand, depth) for operator, operand in value.items())
    return parts[0] if len(parts) == 1 else Every(parts)


def _parse_comparison(field: str, operator: Any, operand: Any, depth: int) -> Condition:
    if operator not in OPERATORS:
        raise _make_unknown_error(operator, OPERATORS)
    if operator == "$not":
        return Not(_parse_field(field, operand, depth + 1))
    if operator == "$exists":
        if not isinstance(operand, bool):
            raise FilterError(f"{field}: $exists has {_shorten(operand)}, expected true or false")
        there = Compare(field, "any")
        return there if operand else Not(there)
    if operator in ("$in", "$nin"):
        if not isinstance(operand, list | tuple):
            raise FilterError(f"{field}: {operator} has {_shorten(operand)}, expected a list")
        one = OneOf(field, frozenset(_parse_scalar(field, operator, element) for element in operand))
        return one if operator == "$in" else Not(one)
    if operator in ("$eq", "$ne"):
        equal = OneOf(field, frozenset([_parse_scalar(field, operator, operand)]))
        return equal if operator == "$eq" else Not(equal)
    kind, value = _parse_scalar(field, operator, operand)
    if operator in OF_STRINGS:
        if kind != "string":
            raise FilterError(f"{field}: {operator} has {_shorten(operand)}, expected a string")
        return Compare(field, OF_STRINGS[operator], kind, value)
    if kind not in ("number", "string"):
        raise FilterError(f"{field}: {operator} has {_shorten(operand)}, expected a number or a string")
    return Compare(field, COMPARISONS[operator], kind, value)


def _parse_scalar(field: str, operator: str, value: Any) -> tuple[Kind, Value]:
    operand = to_json_value(value)  # a date as metadata have it
    if operand == [] and operator in OF_EQUALITY:
        return EMPTY_LIST
    if operand is not None and not isinstance(operand, str | int | float | bool):
        given = f"a {type(operand).__name__}"
        raise FilterError(f"{field}: {operator} has {given}, expected a string, number, boolean or null")
    if isinstance(operand, float) and not math.isfinite(operand):
        raise FilterError(f"{field}: {operator} has {operand!r}, expected a finite number")
    if isinstance(operand, int) and not -(2**63) <= operand < 2**63:
        raise FilterError(f"{field}: {operator} has {_shorten(operand)}, expected a number of up to 64 bits")
    if isinstance(operand, str) and not _is_text(operand):
        raise FilterError(f"{field}: {operator} has a string with half a surrogate pair, expected valid text")
    return to_stored_value(operand)


def _check_depth(depth: int) -> None:
    if depth > DEEPEST:
        raise FilterError(f"the filter is nested more than {DEEPEST} deep: simplify it")


def _check_size(condition: Condition) -> None:
    conditions = values = 0
    for part in _walk(condition):
        conditions += 1
        values += len(part.values) if isinstance(part, OneOf) else 0
    for count, most, what in ((conditions, MOST_CONDITIONS, "conditions"), (values, MOST_VALUES, "values")):
        if count > most:
            advice = "give the documents a field for what you are looking for, or ask in several searches"
            raise FilterError(f"the filter has {count:,} {what}, expected at most {most:,}: {advice}")


def _walk(condition: Condition) -> Iterator[Condition]:
    """The condition and all conditions nested in it."""
    yield condition
    inner = condition.parts if isinstance(condition, Every | Either) else ()
    for part in (condition.part,) if isinstance(condition, Not) else inner:
        yield from _walk(part)


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shorten(value: Any) -> str:
    """A short text for any value."""
    try:
        return reprlib.repr(value)
    except ValueError:  # an integer of thousands of digits, which Python refuses to print
        return f"a {type(value).__name__}"


def _make_unknown_error(name: Any, known: tuple[str, ...]) -> FilterError:
    meant = SYNONYMS.get(str(name), f"${str(name).lstrip('$').lower()}")
    near = [meant] if meant in known else difflib.get_close_matches(str(name), known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(known)}"
    return FilterError(f"the filter has {_shorten(name)} where an operator belongs: {hint}")
