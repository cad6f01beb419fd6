"""The adapter inside LlamaIndex itself."""

from __future__ import annotations

import asyncio

import pytest

from asterism import Retriever
from asterism.errors import InputError, SettingError

pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")
pytestmark = pytest.mark.reference

from llama_index.core.retrievers import BaseRetriever  # noqa: E402
from llama_index.core.schema import QueryBundle  # noqa: E402

from asterism.adapters.llama_index import AsterismRetriever  # noqa: E402

QUERY = "who measured the speed of light?"


@pytest.mark.parametrize("method", [None, "colbert", "xtr", "exact"])
def test_nodes_are_those_of_a_search(few: Retriever, method: str | None) -> None:
    """All of them: two have equal texts, and LlamaIndex drops what it takes for duplicates."""
    adapter = AsterismRetriever(few, 3, method=method)
    assert isinstance(adapter, BaseRetriever)
    found = adapter.retrieve(QUERY)
    expected = few.search(QUERY, 3, method=method)
    assert [node.node_id for node in found] == [node.node.ref_doc_id for node in found] == expected.ids
    assert [node.text for node in found] == [hit.document.text for hit in expected]
    assert [node.score for node in found] == [hit.score for hit in expected]


def test_metadata_of_the_user_stay(few: Retriever) -> None:
    found = {node.node_id: node.metadata for node in AsterismRetriever(few).retrieve(QUERY)}
    assert found == {
        "fox": {"title": "Animals", "year": 1999, "tags": ["a", "b"]},
        "light": {"title": "Mine", "score": 5},
        "again": {"year": 2001},
        "python": {"year": 2020},
    }


def test_asynchronous(few: Retriever) -> None:
    adapter = AsterismRetriever(few, 2)
    assert asyncio.run(adapter.aretrieve(QueryBundle(QUERY))) == adapter.retrieve(QUERY)


def test_filter_and_path(few: Retriever) -> None:
    for index in (few, few.path, str(few.path)):
        found = AsterismRetriever(index, filter={"year": {"$gte": 2001}}).retrieve(QUERY)
        assert {node.node_id for node in found} == {"again", "python"}


def test_errors(few: Retriever) -> None:
    with pytest.raises(InputError, match="expected an open"):
        AsterismRetriever(7)
    with pytest.raises(SettingError, match=r"AsterismRetriever has no argument 'metod': did you mean 'method'\?"):
        AsterismRetriever(few, metod="xtr")
    with pytest.raises(SettingError, match="method"):
        AsterismRetriever(few, method="xrt").retrieve(QUERY)
