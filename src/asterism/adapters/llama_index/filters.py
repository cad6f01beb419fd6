"""LlamaIndex's MetadataFilters in the filter language of an index.

A list matches if one of its elements does, as everywhere in the filter language. `contains` asks for an element of a
list, `text_match` for a part of a string. A match that ignores case is refused: strings are compared as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from ...errors import FilterError

Filter = dict[str, Any]

OPERATORS: dict[FilterOperator, str] = {
    FilterOperator.EQ: "$eq",
    FilterOperator.NE: "$ne",
    FilterOperator.GT: "$gt",
    FilterOperator.GTE: "$gte",
    FilterOperator.LT: "$lt",
    FilterOperator.LTE: "$lte",
    FilterOperator.IN: "$in",
    FilterOperator.NIN: "$nin",
    FilterOperator.ANY: "$in",
    FilterOperator.CONTAINS: "$eq",
    FilterOperator.TEXT_MATCH: "$contains",
}
CONDITIONS: dict[FilterCondition, Callable[[list[Filter]], Filter]] = {
    FilterCondition.AND: lambda parts: {"$and": parts},
    FilterCondition.OR: lambda parts: {"$or": parts},
    FilterCondition.NOT: lambda parts: {"$not": {"$or": parts}},  # none of them
}


def translate_filters(filters: MetadataFilters | None) -> Filter | None:
    """The same conditions; None for none."""
    if filters is None or not filters.filters:
        return None
    return CONDITIONS[filters.condition or FilterCondition.AND]([_translate(part) for part in filters.filters])


def _translate(one: MetadataFilter | MetadataFilters) -> Filter:
    if isinstance(one, MetadataFilters):
        return translate_filters(one) or {}  # without conditions it is always true
    if one.operator == FilterOperator.IS_EMPTY:
        return {"$or": [{one.key: {"$exists": False}}, {one.key: {"$in": [None, "", []]}}]}
    if one.operator == FilterOperator.ALL:
        if not isinstance(one.value, list) or not one.value:
            raise FilterError(f"{one.key}: 'all' has {one.value!r}, expected a list of at least one value")
        return {"$and": [{one.key: {"$eq": value}} for value in one.value]}
    if one.operator not in OPERATORS:
        advice = "strings are compared as they are written: use text_match, or store the field in lower case"
        raise FilterError(f"{one.key}: the operator {one.operator.value!r} cannot be translated: {advice}")
    return {one.key: {OPERATORS[one.operator]: one.value}}
