"""An index as a retriever of LangChain."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import run_in_executor
from pydantic import field_validator, model_validator

from ...retriever import Retriever
from ..arguments import refuse_names
from ..opening import open_index
from .documents import to_langchain

SCORE = "asterism_score"
WITH_A_QUESTION = ("k", "method", "filter")


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

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, given: Any) -> Any:
        """Pydantic would drop them."""
        refuse_names(cls.__name__, given, list(cls.model_fields))
        return given

    @field_validator("index", mode="before")
    @classmethod
    def _open(cls, index: object) -> Retriever:
        return open_index(index)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **asked: Any
    ) -> list[Document]:
        refuse_names("invoke", asked, WITH_A_QUESTION)
        wanted = {"k": self.k, "method": self.method, "filter": self.filter, **asked}
        found = self.index.search(query, **wanted)
        return [to_langchain(hit.document, **{SCORE: hit.score}) for hit in found]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **asked: Any
    ) -> list[Document]:
        """In a thread, as in the base class, which would lose the arguments given with the question."""
        manager = run_manager.get_sync()
        found: list[Document] = await run_in_executor(
            None, self._get_relevant_documents, query, run_manager=manager, **asked
        )
        return found
