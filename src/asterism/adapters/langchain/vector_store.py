"""An index as a vector store of LangChain."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever

from ...errors import SettingError
from ...results import Ranking
from ...retriever import Retriever
from ...retriever.diverse_search import search_diverse
from ..arguments import refuse_names, refuse_unknown
from ..calibrated import search_calibrated
from ..opening import WRITER_PATIENCE, open_index
from .documents import make_documents, to_langchain

OWN_MODEL = "an index encodes texts with its own model"

Filter = Mapping[str, Any] | None


class AsterismVectorStore(VectorStore):
    """Documents of LangChain in an index, which encodes them with its own model: no Embeddings are used.

    index    an open asterism.Retriever, or the path of an index; `from_texts` creates one
    method   of searches, as in Retriever.search; None: its default

    Every search takes `method` and `filter` (in the language of Retriever.search) too. `page_content` is what is
    searched; metadata are for filters. Scores are larger for better documents; those called relevance scores are from 0
    to 1, and only hybrid search has them. The asynchronous methods do the same in a thread. An unknown argument is an
    error.
    """

    def __init__(self, index: Retriever | str | os.PathLike[str], *, method: str | None = None) -> None:
        """Open the index, if it is a path."""
        self.index = open_index(index)
        self.method = method

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        embedding: Embeddings | None = None,
        metadatas: Sequence[Mapping[str, Any]] | None = None,
        *,
        path: str | os.PathLike[str],
        ids: Sequence[str | None] | None = None,
        method: str | None = None,
        **settings: Any,
    ) -> AsterismVectorStore:
        """Create an index at `path`, which must not exist, with some texts. Settings are those of Retriever.create.

        embedding: must be None. Choose the model by `model=`.
        """
        if embedding is not None:
            raise SettingError(
                f"embedding is a {type(embedding).__name__}, expected None: {OWN_MODEL}, which `model=` chooses"
            )
        refuse_unknown(Retriever.create, settings)
        documents = make_documents(texts, metadatas, ids)  # before anything is written
        index = Retriever.create(path, **settings)
        index.update(documents)
        return cls(index, method=method)

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: Sequence[Mapping[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int | None = None,
        **unknown: Any,
    ) -> list[str]:
        """Add texts (n,) or replace those whose ids exist; returns their ids (n,), new ones where none was given.

        batch_size: ignored, because an index has batches of its own; LangChain's `index` passes it.
        """
        refuse_unknown(self.add_texts, unknown)
        documents = make_documents(texts, metadatas, ids)
        self.index.update(documents, wait=WRITER_PATIENCE)
        return [document.id for document in documents]

    def delete(self, ids: Sequence[str] | None = None, **unknown: Any) -> bool:
        """Delete documents by their ids, of which some may not exist; all documents, if ids is None."""
        refuse_unknown(self.delete, unknown)
        wanted = [document.id for document in self.index] if ids is None else ids
        self.index.delete(wanted, missing_ok=True, wait=WRITER_PATIENCE)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents with these ids, in their order, without those that do not exist."""
        return [to_langchain(document) for document in self.index.get_many(ids, missing_ok=True)]

    def similarity_search(
        self, query: str, k: int = 4, *, method: str | None = None, filter: Filter = None, **unknown: Any
    ) -> list[Document]:
        """The k best documents, best first."""
        refuse_unknown(self.similarity_search, unknown)
        return [to_langchain(hit.document) for hit in self._search(query, k, method, filter)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, *, method: str | None = None, filter: Filter = None, **unknown: Any
    ) -> list[tuple[Document, float]]:
        """The k best documents and their scores, best first; the scale depends on the method."""
        refuse_unknown(self.similarity_search_with_score, unknown)
        return _pair_with_scores(self._search(query, k, method, filter))

    def _similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, *, method: str | None = None, filter: Filter = None, **unknown: Any
    ) -> list[tuple[Document, float]]:
        """The k best documents and their calibrated scores, from 0 to 1."""
        refuse_unknown(self._similarity_search_with_relevance_scores, unknown)
        return _pair_with_scores(search_calibrated(self.index, query, k, method or self.method, filter))

    async def _asimilarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **asked: Any
    ) -> list[tuple[Document, float]]:
        """In a thread; the base class would take scores that are not calibrated."""
        found: list[tuple[Document, float]] = await run_in_executor(
            None, self._similarity_search_with_relevance_scores, query, k, **asked
        )
        return found

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        method: str | None = None,
        filter: Filter = None,
        **unknown: Any,
    ) -> list[Document]:
        """Up to k of the fetch_k best documents that do not repeat each other, compared by their dense vectors.

        lambda_mult: 1 for relevance alone, 0 for difference alone.
        """
        refuse_unknown(self.max_marginal_relevance_search, unknown)
        found = search_diverse(
            self.index,
            query,
            k,
            candidates=fetch_k,
            balance=lambda_mult,
            method=method or self.method,
            filter=filter,
        )
        return [to_langchain(hit.document) for hit in found]

    def similarity_search_by_vector(self, embedding: list[float], k: int = 4, **ignored: Any) -> list[Document]:
        """Refused: a vector of another model says nothing to this index."""
        raise SettingError(f"an embedding was given, expected a text: {OWN_MODEL}; use similarity_search")

    def max_marginal_relevance_search_by_vector(
        self, embedding: list[float], *ignored: Any, **also_ignored: Any
    ) -> list[Document]:
        """Refused: a vector of another model says nothing to this index."""
        raise SettingError(f"an embedding was given, expected a text: {OWN_MODEL}; use max_marginal_relevance_search")

    def as_retriever(self, **settings: Any) -> VectorStoreRetriever:
        """A retriever of this store: `search_type`, `search_kwargs` and others of VectorStoreRetriever."""
        refuse_names("as_retriever", settings, list(VectorStoreRetriever.model_fields))
        return super().as_retriever(**settings)

    def _search(self, query: str, k: int, method: str | None, filter: Filter) -> Ranking:
        return self.index.search(query, k, method=method or self.method, filter=filter)


def _pair_with_scores(found: Ranking) -> list[tuple[Document, float]]:
    return [(to_langchain(hit.document), hit.score) for hit in found]
