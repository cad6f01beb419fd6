"""Metadata, filters, and an evaluation of filters that shares nothing with the library's."""

from __future__ import annotations

import operator
from typing import Any

from hypothesis import strategies as st

SIGNS = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}
SIGNS |= {
    "$prefix": lambda value, given: value[: len(given)] == given,
    "$contains": lambda value, given: given in value,
}
scalars = st.sampled_from([0, 1, 2, 1.0, 1.5, 2**62, -1, True, False, None, "", "a", "b", "ä", "aä", "bä\0a", "%_"])
strings = st.sampled_from(["", "a", "ä", "\0a", "b", "aä", "_", "%"])
ordered = st.sampled_from([0, 1, 1.5, -1, "a", "ä"])
names = st.sampled_from(["n", "tags", "o.p", "o.q", "o", "nowhere"])
metadata = st.fixed_dictionaries(
    {},
    optional={
        "n": scalars,
        "tags": st.lists(scalars, max_size=3),
        "o": st.fixed_dictionaries({}, optional={"p": scalars, "q": st.lists(scalars, max_size=2)}),
    },
)
comparisons = st.one_of(
    scalars,
    st.builds(lambda sign, value: {sign: value}, st.sampled_from(["$eq", "$ne"]), scalars),
    st.builds(lambda sign, value: {sign: value}, st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), ordered),
    st.builds(lambda sign, value: {sign: value}, st.sampled_from(["$prefix", "$contains"]), strings),
    st.builds(lambda sign, values: {sign: values}, st.sampled_from(["$in", "$nin"]), st.lists(scalars, max_size=3)),
    st.builds(lambda there: {"$exists": there}, st.booleans()),
    st.builds(lambda a, b: {"$gte": a, "$not": {"$gt": b}}, ordered, ordered),
)
filters: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.dictionaries(names, comparisons, max_size=2),
    lambda inner: st.one_of(
        st.builds(lambda parts: {"$and": parts}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda parts: {"$or": parts}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda part: {"$not": part}, inner),
    ),
    max_leaves=4,
)


def values_at(place: Any, path: list[str]) -> list[Any]:
    """The scalars at a dotted name; Ellipsis for an object or an empty list, which match only $exists."""
    if isinstance(place, list):
        return [value for element in place for value in values_at(element, path)] or ([] if path else [...])
    if not path:
        return [...] if isinstance(place, dict) else [place]
    return values_at(place[path[0]], path[1:]) if isinstance(place, dict) and path[0] in place else []


def kind(value: Any) -> str:
    return "number" if type(value) in (int, float) else type(value).__name__


def one_holds(sign: str, operand: Any, found: list[Any]) -> bool:
    if sign in SIGNS:
        return any(kind(value) == kind(operand) and SIGNS[sign](value, operand) for value in found)
    if sign == "$eq":
        return any(kind(value) == kind(operand) and value == operand for value in found)
    if sign == "$in":
        return any(one_holds("$eq", element, found) for element in operand)
    if sign == "$exists":
        return bool(found) == operand
    if sign == "$not":
        return not all(one_holds(inner, value, found) for inner, value in operand.items())
    return not one_holds({"$ne": "$eq", "$nin": "$in"}[sign], operand, found)


def holds(where: dict[str, Any], of: dict[str, Any]) -> bool:
    for name, value in where.items():
        if name == "$and":
            ok = all(holds(part, of) for part in value)
        elif name == "$or":
            ok = any(holds(part, of) for part in value)
        elif name == "$not":
            ok = not holds(value, of)
        else:
            signs = value if isinstance(value, dict) else {"$eq": value}
            ok = all(one_holds(sign, operand, values_at(of, name.split("."))) for sign, operand in signs.items())
        if not ok:
            return False
    return True
