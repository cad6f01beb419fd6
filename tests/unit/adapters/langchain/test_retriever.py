"""The adapter inside LangChain itself."""

from __future__ import annotations

import asyncio

import pytest

from asterism import Retriever
from asterism.errors import NotAnIndex, SettingError

pytest.importorskip("langchain_core", reason="langchain-core is not installed")
pytestmark = pytest.mark.reference

from langchain_core.retrievers import BaseRetriever  # noqa: E402
from langchain_core.runnables import RunnableLambda  # noqa: E402

from asterism.adapters.langchain import AsterismRetriever  # noqa: E402

QUERY = "who measured the speed of light?"


@pytest.mark.parametrize("method", [None, "colbert", "xtr", "exact"])
def test_documents_are_those_of_a_search(few: Retriever, method: str | None) -> None:
    adapter = AsterismRetriever(index=few, k=3, method=method)
    assert isinstance(adapter, BaseRetriever)
    found = adapter.invoke(QUERY)
    expected = few.search(QUERY, 3, method=method)
    assert [document.id for document in found] == expected.ids
    assert [document.page_content for document in found] == [hit.document.text for hit in expected]
    assert [document.metadata["asterism_score"] for document in found] == [hit.score for hit in expected]


def test_metadata_of_the_user_stay(few: Retriever) -> None:
    found = {document.id: document.metadata for document in AsterismRetriever(index=few).invoke(QUERY)}
    for metadata in found.values():
        metadata.pop("asterism_score")
    assert found == {
        "fox": {"title": "Animals", "year": 1999, "tags": ["a", "b"]},
        "light": {"title": "Mine", "score": 5},
        "again": {"year": 2001},
        "python": {"year": 2020},
    }


def test_asynchronous_batched_and_in_a_chain(few: Retriever) -> None:
    adapter = AsterismRetriever(index=few, k=2)
    expected = adapter.invoke(QUERY)
    assert asyncio.run(adapter.ainvoke(QUERY)) == expected
    assert adapter.batch([QUERY, "fox"]) == [expected, adapter.invoke("fox")]
    chain = adapter | RunnableLambda(lambda documents: [document.id for document in documents])
    assert chain.invoke(QUERY) == [document.id for document in expected]


def test_filter(few: Retriever) -> None:
    adapter = AsterismRetriever(index=few, filter={"year": {"$gte": 2001}})
    assert {document.id for document in adapter.invoke(QUERY)} == {"again", "python"}
    assert len(adapter.invoke(QUERY, filter={})) == 4


def test_what_is_given_with_a_question_holds_for_it_alone(few: Retriever) -> None:
    adapter = AsterismRetriever(index=few)
    expected = few.search(QUERY, 1, method="xtr", filter={"year": 1999}).ids
    asked = {"k": 1, "method": "xtr", "filter": {"year": 1999}}
    assert [document.id for document in adapter.invoke(QUERY, **asked)] == expected == ["fox"]
    assert [document.id for document in asyncio.run(adapter.ainvoke(QUERY, **asked))] == expected
    assert len(adapter.invoke(QUERY)) == 4
    with pytest.raises(SettingError, match=r"invoke has no argument 'fliter': did you mean 'filter'\?"):
        adapter.invoke(QUERY, fliter={})


def test_a_path_is_opened(few: Retriever) -> None:
    for path in (few.path, str(few.path)):
        assert AsterismRetriever(index=path, k=1).invoke(QUERY)[0].id == few.search(QUERY, 1).ids[0]


def test_errors(few: Retriever) -> None:
    with pytest.raises(ValueError, match="expected an open"):  # pydantic wraps it
        AsterismRetriever(index=7)
    with pytest.raises(ValueError, match=r"AsterismRetriever has no argument 'fliter': did you mean 'filter'\?"):
        AsterismRetriever(index=few, fliter={})
    with pytest.raises(NotAnIndex):
        AsterismRetriever(index=few.path / "nothing")
    with pytest.raises(SettingError, match="method"):
        AsterismRetriever(index=few, method="xrt").invoke(QUERY)
