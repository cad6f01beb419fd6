"""LangChain's own suites for vector stores and retrievers. `--asyncio-mode auto` runs their asynchronous half too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from asterism import Document, Retriever

pytest.importorskip("langchain_tests", reason="langchain-tests is not installed")
pytestmark = pytest.mark.reference

from langchain_core.vectorstores import VectorStore  # noqa: E402
from langchain_tests.integration_tests import RetrieversIntegrationTests, VectorStoreIntegrationTests  # noqa: E402

from asterism.adapters.langchain import AsterismRetriever, AsterismVectorStore  # noqa: E402

VIEWS = [["dense", "lexical"], ["dense"]]


class TestVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture(params=VIEWS, ids="+".join)
    def vectorstore(self, request: pytest.FixtureRequest, minilm: Path, tmp_path: Path) -> Iterator[VectorStore]:
        with Retriever.create(tmp_path / "x.ast", minilm, views=request.param) as index:
            yield AsterismVectorStore(index)


class TestRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _index(self, model: Path, tmp_path: Path) -> Iterator[None]:
        with Retriever.create(tmp_path / "x.ast", model) as self.index:
            self.index.add(Document(str(number), f"Document {number} about light.") for number in range(5))
            yield

    @property
    def retriever_constructor(self) -> type[AsterismRetriever]:
        return AsterismRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"index": self.index}

    @property
    def retriever_query_example(self) -> str:
        return "light"
