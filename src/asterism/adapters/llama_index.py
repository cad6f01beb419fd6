"""An index as a retriever of LlamaIndex."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from ..errors import MissingPackage
from ..results import Hit
from ..retriever import Retriever
from .metadata import collect_metadata
from .opening import open_index

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode
except ImportError as error:
    raise MissingPackage(
        f"the adapter needs llama-index-core ({error}): pip install 'asterism[llama-index]'"
    ) from error


class AsterismRetriever(BaseRetriever):
    """A question -> up to k nodes with scores, best first.

    index    an open asterism.Retriever, or the path of an index
    k        how many nodes
    method   as in Retriever.search; None: its default
    filter   as in Retriever.search
    others   as in LlamaIndex's BaseRetriever

    A node has its document's id, text and metadata. `title` is added to these, unless the metadata have one already.
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
        super().__init__(**others)
        self.index = open_index(index)
        self.k = k
        self.method = method
        self.filter = filter

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self.index.search(query_bundle.query_str, self.k, method=self.method, filter=self.filter)
        return [_make_node(hit) for hit in found]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """In a thread: the base class would block the event loop during the search."""
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _make_node(hit: Hit) -> NodeWithScore:
    """A node whose source is its document: LlamaIndex's `ref_doc_id`."""
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=hit.id)}
    node = TextNode(id_=hit.id, text=hit.document.text, metadata=collect_metadata(hit), relationships=source)
    return NodeWithScore(node=node, score=hit.score)
