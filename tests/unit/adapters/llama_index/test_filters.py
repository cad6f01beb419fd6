"""Every operator against LlamaIndex's own evaluation of it, where both mean the same."""

from __future__ import annotations

from typing import Any

import pytest

from asterism.collection.filter_parsing import parse_filter
from asterism.collection.filters import is_fulfilled
from asterism.errors import FilterError

pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")
pytestmark = pytest.mark.reference

from llama_index.core.vector_stores.types import (  # noqa: E402
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)
from llama_index.core.vector_stores.utils import build_metadata_filter_fn  # noqa: E402

from asterism.adapters.llama_index.filters import translate_filters  # noqa: E402

METADATA: dict[str, dict[str, Any]] = {
    "old": {"year": 1676, "name": "Ole Rømer", "tags": ["light", "moons"]},
    "new": {"year": 2020.5, "name": "light", "tags": []},
    "null": {"year": 0, "name": None, "tags": ["light"]},
    "blank": {"year": -1, "name": "", "tags": ["a"]},
    "other": {"year": 7, "name": "moons", "tags": ["light", "moons", "a"]},
    "bare": {},
}
NUMBERS = ("==", "!=", ">", ">=", "<", "<=")
SAME = [MetadataFilter(key="year", operator=operator, value=7) for operator in NUMBERS]
SAME += [
    MetadataFilter(key="name", value="light"),
    MetadataFilter(key="name", operator="!=", value="light"),
    MetadataFilter(key="year", operator="in", value=[7, 1676]),
    MetadataFilter(key="year", operator="nin", value=[7, 1676]),
    MetadataFilter(key="name", operator="in", value=[]),
    MetadataFilter(key="name", operator="text_match", value="ømer"),
    MetadataFilter(key="tags", operator="any", value=["moons", "a"]),
    MetadataFilter(key="tags", operator="all", value=["moons", "light"]),
    MetadataFilter(key="tags", operator="contains", value="moons"),
    MetadataFilter(key="tags", operator="is_empty", value=None),
    MetadataFilter(key="name", operator="is_empty", value=None),
    MetadataFilter(key="nothing", operator="is_empty", value=None),
]


def ours(filters: MetadataFilters | None) -> set[str]:
    condition = parse_filter(translate_filters(filters) or {})
    return {id for id, metadata in METADATA.items() if is_fulfilled(condition, metadata)}


def theirs(filters: MetadataFilters) -> set[str]:
    fulfils = build_metadata_filter_fn(METADATA.__getitem__, filters)
    return {id for id in METADATA if fulfils(id)}


@pytest.mark.parametrize("one", SAME, ids=lambda one: f"{one.key} {one.operator.value} {one.value}")
def test_operators(one: MetadataFilter) -> None:
    filters = MetadataFilters(filters=[one])
    assert ours(filters) == theirs(filters)


@pytest.mark.parametrize("condition", [None, *FilterCondition])
@pytest.mark.parametrize("parts", [[], SAME[:1], SAME[2:3] + SAME[6:7], SAME[8:12]])
def test_conditions(condition: FilterCondition | None, parts: list[MetadataFilter]) -> None:
    filters = MetadataFilters(filters=parts, condition=condition)
    assert ours(filters) == theirs(filters)


def test_nested() -> None:
    """LlamaIndex's own function refuses these."""
    light = MetadataFilter(key="tags", operator="any", value=["light"])
    early = MetadataFilter(key="year", operator="<", value=100)
    inner = MetadataFilters(filters=[light, early], condition="and")
    outer = MetadataFilters(filters=[inner, MetadataFilter(key="name", value="")], condition="or")
    assert ours(outer) == {"null", "other", "blank"}
    assert ours(MetadataFilters(filters=[outer], condition="not")) == {"old", "new", "bare"}
    assert ours(MetadataFilters(filters=[MetadataFilters(filters=[]), early], condition="or")) == set(METADATA)
    assert ours(None) == set(METADATA)


def test_every_operator_is_translated_or_refused() -> None:
    for operator in FilterOperator:
        one = MetadataFilters(filters=[MetadataFilter(key="name", operator=operator, value=["x"])])
        if operator == FilterOperator.TEXT_MATCH_INSENSITIVE:
            with pytest.raises(FilterError, match=r"name: the operator 'text_match_insensitive' cannot.*lower case"):
                translate_filters(one)
        else:
            assert translate_filters(one)


@pytest.mark.parametrize(
    ("operator", "value", "message"),
    [
        ("==", ["a"], r"\$eq has a list"),
        ("in", "abc", "expected a list"),
        ("all", "abc", "expected a list of at"),
    ],
)
def test_values_of_the_wrong_kind(operator: str, value: Any, message: str) -> None:
    with pytest.raises(FilterError, match=message):
        ours(MetadataFilters(filters=[MetadataFilter(key="a", operator=operator, value=value)]))
