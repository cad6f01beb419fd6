"""An index as a vector store and as a retriever of LlamaIndex."""

from __future__ import annotations

from ...errors import MissingPackage

try:
    from .embedding import NoEmbedding
    from .retriever import AsterismRetriever
    from .vector_store import AsterismVectorStore
except ImportError as error:
    raise MissingPackage(
        f"the adapter needs llama-index-core ({error}): pip install 'asterism[llama-index]'"
    ) from error

__all__ = ["AsterismRetriever", "AsterismVectorStore", "NoEmbedding"]
