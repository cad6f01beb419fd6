"""What stands where LlamaIndex wants an embedding model, although an index encodes texts itself."""

from __future__ import annotations

from llama_index.core.base.embeddings.base import BaseEmbedding


class NoEmbedding(BaseEmbedding):
    """Empty vectors, at no cost, for AsterismVectorStore.

    An IngestionPipeline gives a store only nodes that have an embedding, so this is its last transformation; a
    VectorStoreIndex wants an embedding model, so this is its `embed_model`.
    """

    model_name: str = "none"

    def _get_text_embedding(self, text: str) -> list[float]:
        return []

    def _get_query_embedding(self, query: str) -> list[float]:
        return []

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return []
