"""Metadata filters: parsing, meaning, and errors."""

from __future__ import annotations

import datetime
import tracemalloc
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from asterism import TokenSearch, TokenVectors
from asterism.collection import filter_parsing
from asterism.collection.collection import Collection
from asterism.collection.filter_parsing import MOST_CONDITIONS, MOST_VALUES, parse_filter, to_canonical_text
from asterism.collection.filters import Compare, Either, Every, Not, OneOf, is_fulfilled, list_fields
from asterism.collection.kept_views import Views
from asterism.documents.document import Document
from asterism.errors import FilterError
from asterism.settings import TokenBuild
from tests.conftest import tokens_only

METADATA: dict[str, dict[str, Any]] = {
    "int": {"x": 1},
    "float": {"x": 1.5},
    "whole": {"x": 2.0},
    "true": {"x": True},
    "false": {"x": False},
    "zero": {"x": 0},
    "null": {"x": None},
    "text": {"x": "1"},
    "ö": {"x": "größer", "ключ": "значение"},
    "wave": {"x": "🌊", "a.b": "dotted"},
    "list": {"x": [1, "two", None, [3]]},
    "empty": {"x": []},
    "object": {"x": {"y": {"z": 7}, "": 8}},
    "objects": {"x": [{"y": 1}, {"y": 2}]},
    "hollow": {"x": {}},
    "big": {"x": 2**53 + 1},
    "largest": {"x": 2**63 - 1},
    "least": {"x": -(2**63)},
    "nul": {"x": "a\0b"},
    "blank": {"": 5},
    "missing": {},
}
EVERYONE = set(METADATA)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    made = Collection.create(tmp_path_factory.mktemp("filters") / "x", Views(TokenBuild()), {})
    vectors = TokenVectors(np.ones((len(METADATA), 4), np.float32), np.arange(len(METADATA) + 1))
    with made.writing() as writer:
        writer.add([Document(id, "text", metadata=metadata) for id, metadata in METADATA.items()], tokens_only(vectors))
    return made


def found(collection: Collection, where: Any) -> set[str]:
    hits = collection.search(np.ones((1, 4), np.float32), len(METADATA), TokenSearch(method="exact"), where)
    return {document.id for document, _ in hits.documents}


def equal(field: str, *values: float) -> OneOf:
    return OneOf(field, frozenset(("number", value) for value in values))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, Every(())),
        ({"a": 1}, equal("a", 1)),
        ({"a": None}, OneOf("a", frozenset([("null", 0)]))),
        ({"a": {"$eq": True}}, OneOf("a", frozenset([("boolean", 1)]))),
        ({"a": {"$ne": "x"}}, Not(OneOf("a", frozenset([("string", "x")])))),
        ({"a": {"$gt": 1}}, Compare("a", ">", "number", 1)),
        ({"a": {"$gte": 1.5}}, Compare("a", ">=", "number", 1.5)),
        ({"a": {"$lt": "m"}}, Compare("a", "<", "string", "m")),
        ({"a": {"$lte": -1}}, Compare("a", "<=", "number", -1)),
        ({"a": {"$in": [1, "x", 1.0]}}, OneOf("a", frozenset([("number", 1), ("string", "x")]))),
        ({"a": {"$nin": []}}, Not(OneOf("a", frozenset()))),
        ({"a": {"$exists": True}}, Compare("a", "any")),
        ({"a": {"$exists": False}}, Not(Compare("a", "any"))),
        ({"a": {"$not": {"$gt": 1}}}, Not(Compare("a", ">", "number", 1))),
        ({"a": {"$not": 1}}, Not(equal("a", 1))),
        (
            {"a": {"$gt": 1, "$lt": 3}},
            Every((Compare("a", ">", "number", 1), Compare("a", "<", "number", 3))),
        ),
        ({"a": 1, "b": 2}, Every((equal("a", 1), equal("b", 2)))),
        ({"$and": [{"a": 1}]}, Every((equal("a", 1),))),
        ({"$or": [{"$not": {"b": 2}}, {"a": 1}]}, Either((Not(equal("b", 2)), equal("a", 1)))),
        ({"$or": [{"a": 1}, {"b": 1}, {"a": {"$in": [2, 3]}}]}, Either((equal("a", 1, 2, 3), equal("b", 1)))),
    ],
)
def test_every_operator_is_read(given: dict[str, Any], expected: object) -> None:
    assert parse_filter(given) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], r"the filter is \[\], expected an object"),
        ("year", "the filter is 'year', expected an object"),
        ({1: 2}, "the filter has the key 1, expected a field's name"),
        ({"a": {"$gtt": 1}}, r"'\$gtt' where an operator belongs: did you mean \$gte?"),
        ({"a": {"$neq": 1}}, r"did you mean \$ne"),
        ({"a": {"gte": 1}}, r"did you mean \$gte"),
        ({"a": {"zebra": 1}}, r"expected one of \$eq, \$ne"),
        ({"a": {1: 1}}, "the filter has 1 where an operator belongs"),
        ({"$an": [{"a": 1}]}, r"did you mean \$and"),
        ({"$eq": 1}, r"expected one of \$and, \$or, \$not"),
        ({"a": {}}, r"field 'a' has {}, expected an operator"),
        ({"$and": []}, r"\$and has \[\], expected a list of at least one"),
        ({"$or": {"a": 1}}, r"\$or has {'a': 1}, expected a list"),
        ({"$or": [1]}, r"\$or is 1, expected an object"),
        ({"$not": [{"a": 1}]}, r"\$not is \[{'a': 1}\], expected an object"),
        ({"a": {"$in": "xy"}}, r"a: \$in has 'xy', expected a list"),
        ({"a": {"$nin": 1}}, r"a: \$nin has 1, expected a list"),
        ({"a": {"$gt": []}}, r"a: \$gt has a list, expected a string, number, boolean or null"),
        ({"a": {"$prefix": []}}, r"a: \$prefix has a list, expected a string, number, boolean or null"),
        ({"a": {"$in": [[1]]}}, r"a: \$in has a list, expected a string, number, boolean or null"),
        ({"a": [1]}, r"a: \$eq has a list"),
        ({"a": {"$eq": {"b": 1}}}, r"a: \$eq has a dict"),
        ({"a": {"$eq": {1}}}, r"a: \$eq has a set"),
        ({"a": {"$exists": 1}}, r"a: \$exists has 1, expected true or false"),
        ({"a": {"$gt": None}}, r"a: \$gt has None, expected a number or a string"),
        ({"a": {"$lte": False}}, r"a: \$lte has False, expected a number or a string"),
        ({"a": float("nan")}, "nan, expected a finite number"),
        ({"a": {"$lt": float("inf")}}, "inf, expected a finite number"),
        ({"a": 2**63}, "9223372036854775808, expected a number of up to 64 bits"),
        ({"a": {"$gt": -(2**63) - 1}}, "expected a number of up to 64 bits"),
        ({"a": 10**5000}, "expected a number of up to 64 bits"),
        ({"a": "\ud800"}, r"a: \$eq has a string with half a surrogate pair"),
        ({"\ud800": 1}, r"the field '\\ud800' with half a surrogate pair"),
        ({"k" * 1001: 1}, "a field of 1,001 characters, expected at most 1,000"),
    ],
)
def test_bad_filters_raise_an_error_of_one_line(given: Any, message: str) -> None:
    with pytest.raises(FilterError, match=message) as caught:
        parse_filter(given)
    assert len(str(caught.value).splitlines()) == 1


def test_long_values_are_shortened_in_messages() -> None:
    with pytest.raises(FilterError) as caught:
        parse_filter({"a": {"$in": "x" * 10**6}})
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("wrap", [lambda inner: {"$not": inner}, lambda inner: {"$and": [inner]}])
def test_nesting_is_limited(wrap: Any) -> None:
    deep: dict[str, Any] = {"a": 1}
    for _ in range(40):
        deep = wrap(deep)
    parse_filter(deep)
    for _ in range(5000):
        deep = wrap(deep)
    with pytest.raises(FilterError, match="more than 50 deep"):
        parse_filter(deep)


def test_nesting_within_a_field_is_limited() -> None:
    deep: dict[str, Any] = {"$eq": 1}
    for _ in range(5000):
        deep = {"$not": deep}
    with pytest.raises(FilterError, match="more than 50 deep"):
        parse_filter({"a": deep})


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({}, EVERYONE),
        ({"x": 1}, {"int", "list"}),
        ({"x": 1.0}, {"int", "list"}),
        ({"x": 2}, {"whole"}),
        ({"x": 3}, {"list"}),
        ({"x": True}, {"true"}),
        ({"x": False}, {"false"}),
        ({"x": 0}, {"zero"}),
        ({"x": -0.0}, {"zero"}),
        ({"x": None}, {"null", "list"}),
        ({"x": "1"}, {"text"}),
        ({"x": "größer"}, {"ö"}),
        ({"ключ": "значение"}, {"ö"}),
        ({"x": "a\0b"}, {"nul"}),
        ({"x": "a"}, set()),
        ({"x.y": 1}, {"objects"}),
        ({"x.y.z": 7}, {"object"}),
        ({"x.": 8}, {"object"}),
        ({"": 5}, {"blank"}),
        ({"a.b": "dotted"}, {"wave"}),
        ({"x": {"$gt": 1, "$lt": 2}}, {"float", "list"}),  # the list: 3 is above 1, and 1 below 2
        ({"x": {"$gte": 2**53 + 1}}, {"big", "largest"}),
        ({"x": 2**53}, set()),
        ({"x": 2.0**53}, set()),
        ({"x": {"$gt": 2.0**53}}, {"big", "largest"}),
        ({"x": 2**63 - 1}, {"largest"}),
        ({"x": {"$lt": 2.0**63, "$gt": 2**53 + 1}}, {"largest"}),
        ({"x": -(2**63)}, {"least"}),
        ({"x": -(2.0**63)}, {"least"}),
        ({"x": {"$lt": 0}}, {"least"}),
        ({"x": {"$gt": "größer"}}, {"list", "wave"}),
        ({"x": {"$lte": "a"}}, {"text"}),
        ({"x": {"$in": []}}, set()),
        ({"x": {"$nin": []}}, EVERYONE),
        ({"x": []}, {"empty"}),
        ({"x": {"$ne": []}}, EVERYONE - {"empty"}),
        ({"x": {"$in": [(), 0]}}, {"empty", "zero"}),
        ({"x": {"$nin": [[], 0]}}, EVERYONE - {"empty", "zero"}),
        ({"x": {"$in": [True, "1", None]}}, {"true", "text", "null", "list"}),
        ({"x": {"$nin": [1, None]}}, EVERYONE - {"int", "list", "null"}),
        ({"x": {"$ne": 1}}, EVERYONE - {"int", "list"}),
        ({"x": {"$ne": None}}, EVERYONE - {"null", "list"}),
        ({"nowhere": {"$ne": 1}}, EVERYONE),
        ({"nowhere": {"$nin": [1]}}, EVERYONE),
        ({"nowhere": None}, set()),
        ({"x": {"$exists": False}}, {"missing", "blank"}),
        ({"x": {"$exists": True}}, EVERYONE - {"missing", "blank"}),
        ({"x.y": {"$exists": True}}, {"object", "objects"}),
        (
            {"x": {"$not": {"$gte": -(2**63)}}},
            EVERYONE - {"int", "float", "whole", "zero", "list", "big", "largest", "least"},
        ),
        ({"$and": [{"x": 1}, {"x": 3}]}, {"list"}),
        ({"$or": [{"x": 1}, {"x": "1"}], "x": {"$ne": "two"}}, {"int", "text"}),
        ({"$not": {"$or": [{"x": {"$exists": True}}, {"": 5}]}}, {"missing"}),
    ],
)
def test_what_filters_mean(collection: Collection, where: dict[str, Any], expected: set[str]) -> None:
    assert found(collection, where) == expected


@pytest.mark.parametrize(
    "where", [{"x": 1}, {"x": {"$nin": [1, None]}}, {"x.y": {"$exists": True}}, {"$not": {"x": {"$lt": "b"}}}]
)
def test_a_document_matches_the_filters_that_find_it(collection: Collection, where: dict[str, Any]) -> None:
    condition = parse_filter(where)
    assert {id for id, metadata in METADATA.items() if is_fulfilled(condition, metadata)} == found(collection, where)


def test_any_mapping_and_any_sequence_will_do(collection: Collection) -> None:
    assert found(collection, MappingProxyType({"x": MappingProxyType({"$in": (1, 2)})})) == {"int", "list", "whole"}


def test_more_values_than_sqlite_takes_at_once(collection: Collection) -> None:
    assert found(collection, {"x": {"$in": list(range(3000))}}) == {"int", "whole", "zero", "list"}


@pytest.mark.parametrize("values", [MOST_VALUES, 20_000])
def test_the_memory_of_many_values_is_a_few_masks(collection: Collection, values: int) -> None:
    """Not a mask for each value, which would be values x documents bytes."""
    where = {"x": {"$in": [*range(values // 2), *map(str, range(values - values // 2))]}}
    condition, snapshot = parse_filter(where), collection.snapshot()
    tracemalloc.start()
    try:
        with collection.reading() as view:
            mask = snapshot.match(condition, view)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert int(mask.sum()) == 5
    assert peak < 100 * values
    assert found(collection, where) == {"int", "whole", "zero", "list", "text"}


def test_parts_of_an_or_are_combined_in_place(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory does not grow with their number."""
    monkeypatch.setattr(filter_parsing, "MOST_CONDITIONS", 10**6)
    peaks = []
    for parts in (100, 1000):
        condition = parse_filter({"$or": [{"x": {"$gt": i, "$lt": i + 1}} for i in range(parts)]})
        snapshot = collection.snapshot()
        tracemalloc.start()
        with collection.reading() as view:
            snapshot.match(condition, view)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2 * peaks[0]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"x": {"$in": list(range(MOST_VALUES + 1))}}, "has 100,001 values, expected at most 100,000: "),
        ({"$or": [{"x": i} for i in range(MOST_VALUES + 1)]}, "has 100,001 values, expected at most 100,000: "),
        ({"$and": [{"x": {"$gt": 1}}] * MOST_CONDITIONS}, "has 10,001 conditions, expected at most 10,000: "),
        ({"$or": [{}] * MOST_CONDITIONS}, "has 10,001 conditions"),
    ],
    ids=["$in", "$or of values", "$and", "$or of nothing"],
)
def test_the_size_of_a_filter_is_limited(where: dict[str, Any], message: str) -> None:
    with pytest.raises(FilterError, match=message) as caught:
        parse_filter(where)
    assert len(str(caught.value)) < 200


def test_equal_filters_have_one_text_and_others_do_not() -> None:
    assert to_canonical_text({"a": 1, "b": {"$in": [1]}}) == to_canonical_text({"b": {"$in": (1,)}, "a": 1})
    assert len({to_canonical_text({"a": value}) for value in (1, True, "1", None, "true")}) == 5


def test_bad_filters_are_refused_by_an_empty_collection_too(tmp_path: Path) -> None:
    with pytest.raises(FilterError):
        found(Collection.create(tmp_path / "x", Views(TokenBuild()), {}), {"a": {"$gtt": 1}})


def test_fields_of_nested_metadata() -> None:
    assert list_fields({"a": {"b": [1, {"c": None}], "d": []}, "e": True}) == {
        ("a", "object", 0),
        ("a.b", "number", 1),
        ("a.b", "object", 0),
        ("a.b.c", "null", 0),
        ("a.d", "empty list", 0),
        ("e", "boolean", 1),
    }


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"x": {"$prefix": "grö"}}, {"ö"}),
        ({"x": {"$contains": "öße"}}, {"ö"}),
        ({"x": {"$contains": "\0b"}}, {"nul"}),
        ({"x": {"$prefix": "a\0"}}, {"nul"}),
        ({"x": {"$contains": "wo"}}, {"list"}),
        ({"x": {"$prefix": "%"}}, set()),
        ({"x": {"$prefix": ""}}, {"text", "ö", "wave", "list", "nul"}),
        ({"x": {"$prefix": "g", "$contains": "ß", "$not": {"$contains": "ss"}}}, {"ö"}),
        ({"x": {"$not": {"$contains": ""}}}, EVERYONE - {"text", "ö", "wave", "list", "nul"}),
    ],
)
def test_parts_of_strings(collection: Collection, where: dict[str, Any], expected: set[str]) -> None:
    assert found(collection, where) == expected
    condition = parse_filter(where)
    assert {id for id, metadata in METADATA.items() if is_fulfilled(condition, metadata)} == expected


@pytest.mark.parametrize(
    ("where", "meant"),
    [
        ({"x": {"$startswith": "a"}}, r"\$prefix"),
        ({"x": {"$regex": "a"}}, r"\$contains"),
        ({"x": {"gte": 1}}, r"\$gte"),
        ({"x": {"$GTE": 1}}, r"\$gte"),
        ({"x": {"$ge": 1}}, r"\$gte"),
        ({"x": {"==": 1}}, r"\$eq"),
        ({"x": {"$exist": True}}, r"\$exists"),
        ({"x": {"$containz": "a"}}, r"\$contains"),
        ({"$nor": []}, r"\$not"),
        ({"$AND": []}, r"\$and"),
    ],
)
def test_what_was_meant(where: dict[str, Any], meant: str) -> None:
    with pytest.raises(FilterError, match=rf"did you mean {meant}\?"):
        parse_filter(where)


def test_dates_are_compared_as_they_are_stored() -> None:
    day = datetime.date(2020, 5, 1)
    metadata = Document("a", "", metadata={"day": day}).metadata
    assert is_fulfilled(parse_filter({"day": day}), metadata)
    assert is_fulfilled(parse_filter({"day": {"$lt": datetime.date(2020, 5, 2)}}), metadata)
    assert to_canonical_text({"day": day, "n": np.int64(3)}) == to_canonical_text({"day": "2020-05-01", "n": 3})


@pytest.mark.parametrize("operand", [1, None, True, ["a"]])
def test_parts_of_strings_are_strings(operand: object) -> None:
    with pytest.raises(FilterError, match=r"x: \$prefix has"):
        parse_filter({"x": {"$prefix": operand}})
