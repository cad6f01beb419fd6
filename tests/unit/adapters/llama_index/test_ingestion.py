"""LlamaIndex's ingestion pipeline into the store, and what it keeps in step there."""

from __future__ import annotations

import asyncio

import pytest

from asterism import Retriever

pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")
pytestmark = pytest.mark.reference

from llama_index.core.embeddings import MockEmbedding  # noqa: E402
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline  # noqa: E402
from llama_index.core.node_parser import TokenTextSplitter  # noqa: E402
from llama_index.core.schema import Document, NodeRelationship, TransformComponent  # noqa: E402
from llama_index.core.storage.docstore import SimpleDocumentStore  # noqa: E402

from asterism.adapters.llama_index import AsterismRetriever, AsterismVectorStore, NoEmbedding  # noqa: E402


def split_words(text: str) -> list[str]:
    """LlamaIndex's own tokenizer may have to be downloaded."""
    return text.split()


def make_pipeline(
    index: Retriever,
    embedding: TransformComponent | None = None,
    strategy: DocstoreStrategy = DocstoreStrategy.UPSERTS,
) -> IngestionPipeline:
    splitter = TokenTextSplitter(chunk_size=8, chunk_overlap=0, tokenizer=split_words)
    return IngestionPipeline(
        transformations=[splitter, embedding or NoEmbedding()],
        vector_store=AsterismVectorStore(index),
        docstore=SimpleDocumentStore(),
        docstore_strategy=strategy,
    )


def make_documents() -> list[Document]:
    fox = "The quick brown fox jumps over the lazy dog and then runs far away from it."
    light = "Who first measured the speed of light? It was a question of the moons."
    return [
        Document(id_="fox", text=fox, metadata={"kind": "animal"}),
        Document(id_="light", text=light, metadata={"kind": "physics"}),
    ]


@pytest.mark.parametrize("embedding", [NoEmbedding(), MockEmbedding(embed_dim=3)], ids=["none", "ignored"])
def test_nodes_arrive_with_all_that_they_have(all_views: Retriever, embedding: TransformComponent) -> None:
    made = make_pipeline(all_views, embedding).run(documents=make_documents())
    stored = {node.node_id: node for node in AsterismVectorStore(all_views).get_nodes()}
    assert len(made) == len(stored) >= 4
    for node in made:
        found = stored[node.node_id]
        assert {**found.model_dump(), "embedding": None} == {**node.model_dump(), "embedding": None}
        assert found.ref_doc_id in ("fox", "light")
    nexts = [node for node in stored.values() if NodeRelationship.NEXT in node.relationships]
    assert all(node.next_node.node_id in stored for node in nexts)
    assert nexts


def test_search_of_what_was_ingested(all_views: Retriever) -> None:
    make_pipeline(all_views).run(documents=make_documents())
    (best, *_) = AsterismRetriever(all_views, method="lexical", filter={"kind": "physics"}).retrieve("speed of light")
    assert best.node.ref_doc_id == "light"
    assert best.node.metadata == {"kind": "physics"}


@pytest.mark.parametrize("asynchronous", [False, True])
def test_changed_documents_are_replaced_and_removed_ones_leave(all_views: Retriever, asynchronous: bool) -> None:
    pipeline = make_pipeline(all_views, strategy=DocstoreStrategy.UPSERTS_AND_DELETE)

    def run(documents: list[Document]) -> int:
        made = asyncio.run(pipeline.arun(documents=documents)) if asynchronous else pipeline.run(documents=documents)
        return len(made)

    store, documents = AsterismVectorStore(all_views), make_documents()
    assert run(documents) == len(all_views)
    before = {node.node_id for node in store.get_nodes() if node.ref_doc_id == "light"}
    assert run(documents) == 0  # nothing changed
    documents[0] = Document(id_="fox", text="A short text.")
    assert run(documents) == 1
    assert [node.text for node in store.get_nodes() if node.ref_doc_id == "fox"] == ["A short text."]
    assert {node.node_id for node in store.get_nodes() if node.ref_doc_id == "light"} == before
    run(documents[1:])
    assert {node.ref_doc_id for node in store.get_nodes()} == {"light"}
