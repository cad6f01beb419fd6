"""The catalog finds exactly the documents that match a filter, for any metadata and any filter."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asterism import TokenVectors
from asterism.collection.collection import Collection
from asterism.collection.filter_parsing import parse_filter
from asterism.collection.filters import is_fulfilled
from asterism.collection.kept_views import Views
from asterism.documents.document import Document
from asterism.settings import TokenBuild
from tests.conftest import tokens_only
from tests.property.filter_rules import holds

# Few of each, so that they often coincide: at the limits of numbers, of UTF-16 and of types.
numbers = st.sampled_from(
    [0, -0.0, 1, 1.0, 1.5, 2**53, 2**53 + 1, 2.0**53, 2**63 - 1, -(2**63), 2.0**62, 1e-300, -1e300]
)
strings = st.sampled_from(["", "1", "a", "a\0b", "ab", "é", "e\u0301", "\uffff", "\U00010000", "null"])
scalars = numbers | strings | st.sampled_from([None, True, False])
keys = st.sampled_from(["a", "b", "é"])
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=2), max_leaves=4
)
metadata = st.dictionaries(keys, values, max_size=3)

fields = st.lists(keys, min_size=1, max_size=2).map(".".join)
comparisons = st.one_of(
    scalars,
    st.dictionaries(st.sampled_from(["$eq", "$ne"]), scalars, min_size=1, max_size=2),
    st.dictionaries(st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), numbers | strings, min_size=1, max_size=2),
    st.dictionaries(st.sampled_from(["$in", "$nin"]), st.lists(scalars, max_size=4), min_size=1, max_size=2),
    st.builds(lambda there: {"$exists": there}, st.booleans()),
)
filters: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.dictionaries(fields, comparisons, max_size=2),
    lambda inner: st.one_of(
        st.builds(lambda parts: {"$and": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda parts: {"$or": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda part: {"$not": part}, inner),
    ),
    max_leaves=5,
)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(of=st.lists(metadata, min_size=1, max_size=8), asked=st.lists(filters, min_size=1, max_size=8))
def test_the_catalog_finds_what_matches_a_filter(
    of: list[dict[str, Any]], asked: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Both agree with an independent evaluation."""
    folder = tmp_path_factory.mktemp("filters") / "x"
    collection = Collection.create(folder, Views(TokenBuild()), {})
    vectors = TokenVectors(np.ones((len(of), 4), np.float32), np.arange(len(of) + 1))
    with collection.writing() as writer:
        writer.add([Document(str(i), "", metadata=value) for i, value in enumerate(of)], tokens_only(vectors))
    for where in asked:
        condition, snapshot = parse_filter(where), collection.snapshot()
        with collection.reading() as view:
            matching = snapshot.match(condition, view).tolist()
        assert matching == [is_fulfilled(condition, value) for value in of] == [holds(where, value) for value in of]
    collection.close()
    shutil.rmtree(folder.parent)
