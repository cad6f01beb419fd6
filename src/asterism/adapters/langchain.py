"""An index as a retriever of LangChain."""

from __future__ import annotations

from typing import Any

from ..errors import MissingPackage
from ..results import Hit
from ..retriever import Retriever
from .metadata import collect_metadata
from .opening import open_index

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import run_in_executor
    from pydantic import field_validator
except ImportError as error:
    raise MissingPackage(f"the adapter needs langchain-core ({error}): pip install 'asterism[langchain]'") from error

SCORE = "asterism_score"


class AsterismRetriever(BaseRetriever):
    """A question -> up to k LangChain documents, best first.

    index    an open asterism.Retriever, or the path of an index
    k        how many documents
    method   as in Retriever.search; None: its default
    filter   as in Retriever.search

    The last three may also be given with a question, `invoke(question, k=3)`, and hold for it alone; `filter={}` is no
    filter.

    A document has its `id`, its text as `page_content`, and its metadata. Added to these are `title`, unless the
    metadata have one already, and `asterism_score`: a plain `score` might be the user's own, such as a rating.
    """

    index: Retriever
    k: int = 10
    method: str | None = None
    filter: dict[str, Any] | None = None

    @field_validator("index", mode="before")
    @classmethod
    def _open(cls, index: object) -> Retriever:
        return open_index(index)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **asked: Any
    ) -> list[Document]:
        wanted = {"k": self.k, "method": self.method, "filter": self.filter, **asked}
        return [_make_document(hit) for hit in self.index.search(query, **wanted)]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **asked: Any
    ) -> list[Document]:
        """In a thread, as in the base class, which would lose the arguments given with the question."""
        manager = run_manager.get_sync()
        found: list[Document] = await run_in_executor(
            None, self._get_relevant_documents, query, run_manager=manager, **asked
        )
        return found


def _make_document(hit: Hit) -> Document:
    return Document(id=hit.id, page_content=hit.document.text, metadata={**collect_metadata(hit), SCORE: hit.score})
