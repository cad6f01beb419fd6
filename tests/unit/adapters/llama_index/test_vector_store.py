"""The vector store inside LlamaIndex itself."""

from __future__ import annotations

import asyncio
import datetime
from pathlib import Path
from typing import Any

import pytest

from asterism import Document, HybridSearch, Retriever
from asterism.errors import DocumentError, InputError, SettingError
from asterism.retriever.diverse_search import search_diverse

pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")
pytestmark = pytest.mark.reference

from llama_index.core import StorageContext, VectorStoreIndex  # noqa: E402
from llama_index.core.schema import BaseNode, ImageNode, IndexNode, Node, NodeRelationship, TextNode  # noqa: E402
from llama_index.core.schema import Document as LlamaDocument  # noqa: E402
from llama_index.core.vector_stores.types import (  # noqa: E402
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

from asterism.adapters.llama_index import AsterismRetriever, AsterismVectorStore, NoEmbedding  # noqa: E402

QUERY = "who measured the speed of light?"


def make_nodes() -> list[TextNode]:
    texts = ["The quick brown fox jumps.", "Who first measured light?", "speed of light", "the speed of the dog"]
    nodes = [TextNode(id_=f"n{i}", text=text, metadata={"year": 2000 + i}) for i, text in enumerate(texts)]
    for i, node in enumerate(nodes):
        node.relationships[NodeRelationship.SOURCE] = LlamaDocument(id_=f"source{i // 2}").as_related_node_info()
        if i:
            node.relationships[NodeRelationship.PREVIOUS] = nodes[i - 1].as_related_node_info()
        node.embedding = [0.5] if i % 2 else None  # ignored
        node.start_char_idx = 7 * i
        node.excluded_embed_metadata_keys = ["year"] if i == 3 else []
    return nodes


@pytest.fixture
def store(all_views: Retriever) -> AsterismVectorStore:
    made = AsterismVectorStore(all_views)
    assert made.add(make_nodes()) == ["n0", "n1", "n2", "n3"]
    return made


def plain(node: BaseNode) -> dict[str, Any]:
    return {**node.model_dump(), "embedding": None}


def ask(mode: str = "default", **asked: Any) -> VectorStoreQuery:
    return VectorStoreQuery(query_str=QUERY, mode=VectorStoreQueryMode(mode), similarity_top_k=3, **asked)


def test_nodes_come_back_whole(store: AsterismVectorStore) -> None:
    wanted = [plain(node) for node in make_nodes()]
    assert [plain(node) for node in store.get_nodes()] == wanted
    assert [plain(node) for node in asyncio.run(store.aget_nodes(["n2", "nothing", "n0"]))] == [wanted[2], wanted[0]]
    found = store.query(ask())
    assert found.nodes is not None
    assert {node.node_id: plain(node) for node in found.nodes}.items() <= {one["id_"]: one for one in wanted}.items()
    (best, *_) = AsterismRetriever(store.client, 3).retrieve(QUERY)
    assert plain(best.node) == plain(found.nodes[0])


def test_what_is_encoded_is_what_llama_index_would_embed(store: AsterismVectorStore) -> None:
    assert store.client.get("n0").full_text == "year: 2000 The quick brown fox jumps."
    assert store.client.get("n3").full_text == "the speed of the dog"


@pytest.mark.parametrize(
    "node",
    [
        Node(id_="x", text_resource={"text": "a text"}, metadata={"a": [1, {"b": None}]}),
        ImageNode(id_="x", text="a text", image_url="file:///nowhere.png"),
        IndexNode(id_="x", text="a text", index_id="another"),
        TextNode(id_="x", text="", text_template="{content}"),
    ],
    ids=lambda node: type(node).__name__,
)
def test_kinds_of_nodes(store: AsterismVectorStore, node: BaseNode) -> None:
    store.add([node])
    (found,) = store.get_nodes(["x"])
    assert type(found) is type(node)
    assert plain(found) == plain(node)


def test_dates_become_strings(store: AsterismVectorStore) -> None:
    store.add([TextNode(id_="x", text="a", metadata={"on": datetime.date(2020, 1, 2)})])
    assert store.get_nodes(["x"])[0].metadata == {"on": "2020-01-02"}


@pytest.mark.parametrize(
    ("mode", "method"), [("default", None), ("hybrid", "hybrid"), ("sparse", "lexical"), ("text_search", "lexical")]
)
def test_modes(store: AsterismVectorStore, mode: str, method: str | None) -> None:
    expected = store.client.search(QUERY, 3, method=method)
    found = store.query(ask(mode))
    assert (found.ids, found.similarities) == (expected.ids, [hit.score for hit in expected])
    assert asyncio.run(store.aquery(ask(mode))) == found
    one = store.client.search(QUERY, 3, method=method or "dense").ids
    assert AsterismVectorStore(store.client, method="dense").query(ask(mode)).ids == one


def test_settings_of_modes(store: AsterismVectorStore) -> None:
    for alpha, weights in ((0.0, (0, 1, 0)), (1.0, (0.5, 0, 0.5)), (0.5, (0.25, 0.5, 0.25))):
        expected = store.client.search(QUERY, 2, settings=HybridSearch(weights=weights))
        found = store.query(ask("hybrid", alpha=alpha, hybrid_top_k=2))
        assert (found.ids, found.similarities) == (expected.ids, [hit.score for hit in expected])
    expected = search_diverse(store.client, QUERY, 3, candidates=4, balance=0.2)
    assert store.query(ask("mmr", mmr_threshold=0.2), mmr_prefetch_k=4).ids == expected.ids
    assert store.query(ask("mmr")).ids == search_diverse(store.client, QUERY, 3, candidates=12).ids


def test_filters_and_ids_restrict_a_query(store: AsterismVectorStore) -> None:
    late = MetadataFilters(filters=[MetadataFilter(key="year", operator=">=", value=2001)])
    assert set(store.query(ask(filters=late)).ids) == {"n1", "n2", "n3"}
    assert set(store.query(ask(filters=late, doc_ids=["source0"])).ids) == {"n1"}
    assert set(store.query(ask("mmr", node_ids=["n0", "n3"])).ids) == {"n0", "n3"}
    assert len(store.query(ask(node_ids=[], doc_ids=[])).ids) == 3  # as LlamaIndex means it


def test_delete(store: AsterismVectorStore) -> None:
    early = MetadataFilters(filters=[MetadataFilter(key="year", operator="<", value=2002)])
    store.delete_nodes(["n0", "n2", "nothing"], early)
    assert [node.node_id for node in store.get_nodes()] == ["n1", "n2", "n3"]
    assert [node.node_id for node in store.get_nodes(filters=early)] == ["n1"]
    store.delete("source1")
    store.delete("nothing")
    assert [node.node_id for node in store.get_nodes()] == ["n1"]
    with pytest.raises(InputError, match=r"clear\(\) deletes all"):
        store.delete_nodes()
    asyncio.run(store.aclear())
    assert store.get_nodes() == []
    assert store.query(ask()).ids == []


def test_asynchronous(all_views: Retriever) -> None:
    async def run() -> list[str]:
        store = AsterismVectorStore(all_views)
        await store.async_add(make_nodes())
        await store.adelete("source0")
        await store.adelete_nodes(["n3"])
        return [node.node_id for node in await store.aget_nodes()]

    assert asyncio.run(run()) == ["n2"]


def test_documents_of_another_origin(store: AsterismVectorStore) -> None:
    store.client.add([Document("plain", "light", "Title")])
    (node,) = store.get_nodes(["plain"])
    assert (node.ref_doc_id, node.metadata) == ("plain", {"title": "Title"})
    store.delete("plain")
    assert "plain" not in store.client


def test_an_index_of_llama_index(tmp_path: Path) -> None:
    """No embedding model is asked, neither for nodes nor for queries; one of words alone needs none at all."""
    store = AsterismVectorStore(Retriever.create(tmp_path / "x.ast", views=["lexical"]))
    context = StorageContext.from_defaults(vector_store=store)
    documents = [LlamaDocument(id_="a", text="the quick fox"), LlamaDocument(id_="b", text="the speed of light")]
    index = VectorStoreIndex.from_documents(documents, storage_context=context, embed_model=NoEmbedding())
    (best, *_) = index.as_retriever(similarity_top_k=1, vector_store_query_mode="sparse").retrieve(QUERY)
    assert (best.text, best.node.ref_doc_id) == ("the speed of light", "b")
    index.delete_ref_doc("b")
    assert [node.ref_doc_id for node in store.get_nodes()] == ["a"]
    again = VectorStoreIndex.from_vector_store(store, embed_model=NoEmbedding())
    assert [found.text for found in again.as_retriever().retrieve("a fox")] == ["the quick fox"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda store: store.add([], batch=3), "add has no argument 'batch'"),
        (lambda store: store.delete("x", ref=3), "did you mean 'ref_doc_id'|known are ref_doc_id"),
        (lambda store: store.delete_nodes(["x"], filter=3), "did you mean 'filters'"),
        (lambda store: store.query(ask("mmr"), mmr_prefetch=3), "did you mean 'mmr_prefetch_k'"),
        (lambda store: asyncio.run(store.aquery(ask(), k=3)), "query has no argument 'k'"),
        (lambda store: asyncio.run(store.async_add([], batch=3)), "no argument 'batch'"),
        (lambda store: AsterismVectorStore(store.client, metod="xtr"), "AsterismVectorStore.*did you mean 'method'"),
        (lambda store: store.query(ask("svm")), "expected one of default, hybrid, sparse, text_search, mmr"),
        (lambda store: store.query(ask(alpha=0.5)), "alpha is 0.5, but the mode is 'default'"),
        (lambda store: store.query(ask("hybrid", mmr_threshold=0.5)), "only 'mmr' has it"),
        (lambda store: store.query(ask(), mmr_prefetch_k=3), "mmr_prefetch_k is 3"),
        (lambda store: store.query(ask("hybrid", sparse_top_k=5)), "sparse_top_k is 5, expected None"),
        (lambda store: store.query(ask("hybrid", alpha=1.5)), "alpha is 1.5, expected a number from 0 to 1"),
        (lambda store: store.query(VectorStoreQuery(query_embedding=[0.5])), "query_str is None, expected a text"),
    ],
)
def test_what_would_be_ignored_is_refused(store: AsterismVectorStore, call: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        call(store)


def test_our_own_key_is_refused_and_a_forged_one_is_an_error(store: AsterismVectorStore) -> None:
    with pytest.raises(DocumentError, match="which is ours: rename it"):
        store.add([TextNode(text="a", metadata={"_llama_index": {}})])
    forged = ({}, {"node": 7, "type": "TextNode"}, {"node": "{", "type": []}, {"node": "[" * 99_999, "type": "Node"})
    for i, kept in enumerate(forged):
        store.client.add([Document(f"forged{i}", "a", "", {"_llama_index": kept})])
        with pytest.raises(DocumentError, match=f"'forged{i}'.*are no node of LlamaIndex"):
            store.get_nodes([f"forged{i}"])
    store.client.add([Document("other", "a", "", {"_llama_index": "no object"})])
    assert store.get_nodes(["other"])[0].text == "a"
