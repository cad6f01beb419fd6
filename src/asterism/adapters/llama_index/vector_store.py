"""An index as a vector store of LlamaIndex."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any

from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryResult,
)
from pydantic import PrivateAttr

from ...errors import InputError
from ...retriever import Retriever
from ..arguments import refuse_unknown
from ..opening import WRITER_PATIENCE, open_index
from .filters import translate_filters
from .nodes import SOURCE_ID, is_own_source, to_document, to_node
from .requests import run_request


class AsterismVectorStore(BasePydanticVectorStore):
    """Nodes of LlamaIndex in an index, which encodes them with its own model: embeddings are ignored.

    index    an open asterism.Retriever, or the path of an index
    method   of queries with the mode "default", as in Retriever.search; None: its default

    What is encoded is what LlamaIndex would embed: the text, and the metadata that are not excluded. Nodes come back
    as they were, with their relationships. Modes are default, hybrid, sparse, text_search and mmr. The asynchronous
    methods do the same in a thread. An unknown argument is an error.
    """

    stores_text: bool = True
    is_embedding_query: bool = False
    method: str | None = None
    _index: Retriever = PrivateAttr()

    def __init__(self, index: Retriever | str | os.PathLike[str], *, method: str | None = None, **unknown: Any) -> None:
        """Open the index, if it is a path."""
        refuse_unknown(type(self), unknown)
        super().__init__(method=method)
        self._index = open_index(index)

    @classmethod
    def class_name(cls) -> str:
        """Its name in LlamaIndex's own records."""
        return "AsterismVectorStore"

    @property
    def client(self) -> Retriever:
        """The open index."""
        return self._index

    def add(self, nodes: Sequence[BaseNode], **unknown: Any) -> list[str]:
        """Add nodes (n,) or replace those whose ids exist; returns their ids (n,)."""
        refuse_unknown(self.add, unknown)
        documents = [to_document(node) for node in nodes]
        self._index.update(documents, wait=WRITER_PATIENCE)
        return [document.id for document in documents]

    def delete(self, ref_doc_id: str, **unknown: Any) -> None:
        """Delete the nodes of a source document; none is no error."""
        refuse_unknown(self.delete, unknown)
        found = [document.id for document in self._index.list(filter={SOURCE_ID: ref_doc_id})]
        itself = self._index.get_many([ref_doc_id], missing_ok=True)
        found += [document.id for document in itself if is_own_source(document)]
        self._delete(found)

    def delete_nodes(
        self, node_ids: Sequence[str] | None = None, filters: MetadataFilters | None = None, **unknown: Any
    ) -> None:
        """Delete the nodes that have one of these ids and match the filters; one of both must be given."""
        refuse_unknown(self.delete_nodes, unknown)
        if node_ids is None and filters is None:
            raise InputError("neither node_ids nor filters was given, expected one of them: clear() deletes all nodes")
        self._delete([node.node_id for node in self.get_nodes(node_ids, filters)])

    def get_nodes(
        self, node_ids: Sequence[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """The nodes that have one of these ids, if any are given, and match the filters, if there are any."""
        filter = translate_filters(filters)
        if node_ids is None:
            return [to_node(document) for document in self._index.list(filter=filter)]
        if filter is None:
            return [to_node(document) for document in self._index.get_many(node_ids, missing_ok=True)]
        wanted = set(node_ids)
        return [to_node(document) for document in self._index.list(filter=filter) if document.id in wanted]

    def clear(self) -> None:
        """Delete all nodes."""
        self._delete([document.id for document in self._index])

    def query(
        self, query: VectorStoreQuery, *, mmr_prefetch_k: int | None = None, **unknown: Any
    ) -> VectorStoreQueryResult:
        """The best nodes for the text of a query, best first, with their scores.

        mmr_prefetch_k: candidates of the mode "mmr"; None for four times similarity_top_k.
        """
        refuse_unknown(self.query, unknown)
        found = run_request(self._index, query, self.method, mmr_prefetch_k)
        return VectorStoreQueryResult(
            nodes=[to_node(hit.document) for hit in found],
            similarities=[hit.score for hit in found],
            ids=found.ids,
        )

    def _delete(self, ids: list[str]) -> None:
        self._index.delete(ids, missing_ok=True, wait=WRITER_PATIENCE)

    async def async_add(self, nodes: Sequence[BaseNode], **unknown: Any) -> list[str]:
        """See `add`."""
        return await asyncio.to_thread(self.add, nodes, **unknown)

    async def adelete(self, ref_doc_id: str, **unknown: Any) -> None:
        """See `delete`."""
        await asyncio.to_thread(self.delete, ref_doc_id, **unknown)

    async def adelete_nodes(
        self, node_ids: Sequence[str] | None = None, filters: MetadataFilters | None = None, **unknown: Any
    ) -> None:
        """See `delete_nodes`."""
        await asyncio.to_thread(self.delete_nodes, node_ids, filters, **unknown)

    async def aget_nodes(
        self, node_ids: Sequence[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """See `get_nodes`."""
        return await asyncio.to_thread(self.get_nodes, node_ids, filters)

    async def aclear(self) -> None:
        """See `clear`."""
        await asyncio.to_thread(self.clear)

    async def aquery(self, query: VectorStoreQuery, **asked: Any) -> VectorStoreQueryResult:
        """See `query`."""
        return await asyncio.to_thread(self.query, query, **asked)
