"""An index as a vector store and as a retriever of LangChain."""

from __future__ import annotations

from ...errors import MissingPackage

try:
    from .retriever import AsterismRetriever
    from .vector_store import AsterismVectorStore
except ImportError as error:
    raise MissingPackage(f"the adapter needs langchain-core ({error}): pip install 'asterism[langchain]'") from error

__all__ = ["AsterismRetriever", "AsterismVectorStore"]
