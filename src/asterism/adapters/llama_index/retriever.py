"""An index as a retriever of LlamaIndex."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from ...retriever import Retriever
from ..arguments import refuse_names
from ..opening import open_index
from .nodes import to_node

OTHERS = ("callback_manager", "object_map", "objects", "verbose")
KNOWN = ("index", "k", "method", "filter", *OTHERS)


class AsterismRetriever(BaseRetriever):
    """A question -> up to k nodes with scores, best first.

    index    an open asterism.Retriever, or the path of an index
    k        how many nodes
    method   as in Retriever.search; None: its default
    filter   as in Retriever.search
    others   as in LlamaIndex's BaseRetriever

    A node that AsterismVectorStore has stored comes back whole. A document of another origin becomes a node with its
    id, text and metadata. `title` is added to these, unless the metadata have one already.
    """

    def __init__(
        self,
        index: Retriever | str | os.PathLike[str],
        k: int = 10,
        *,
        method: str | None = None,
        filter: Mapping[str, Any] | None = None,
        **others: Any,
    ) -> None:
        """Open the index, if it is a path."""
        refuse_names(type(self).__name__, others, KNOWN)
        super().__init__(**others)
        self.index = open_index(index)
        self.k = k
        self.method = method
        self.filter = filter

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self.index.search(query_bundle.query_str, self.k, method=self.method, filter=self.filter)
        return [NodeWithScore(node=to_node(hit.document), score=hit.score) for hit in found]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """In a thread: the base class would block the event loop during the search."""
        return await asyncio.to_thread(self._retrieve, query_bundle)
