"""Indexes of a tiny random checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from asterism import Document, Retriever
from asterism.collection import writer as collection_writer
from tests import layouts
from tests.unit.retriever.documents import FEW, Put, words


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return layouts.colbert(tmp_path_factory.mktemp("models") / "colbert")


@pytest.fixture
def put(model: Path, tmp_path: Path, closed_later: Callable[[Retriever], Retriever]) -> Put:
    """Makes an index of documents."""

    def make(documents: list[Document] = FEW, name: str = "x.ast", **settings: Any) -> Retriever:
        made = closed_later(Retriever.create(tmp_path / name, settings.pop("model", model), **settings))
        made.add(documents)
        return made

    return make


@pytest.fixture(scope="module")
def few(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Retriever]:
    """Not to be changed."""
    with Retriever.create(tmp_path_factory.mktemp("few") / "x.ast", model) as made:
        made.add(FEW)
        yield made


@pytest.fixture(scope="module")
def clustered(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Retriever]:
    """Large enough to be coded, in several segments, with dead documents in it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collection_writer, "FLAT_TOKENS", 1000)
        with Retriever.create(tmp_path_factory.mktemp("clustered") / "x.ast", model) as made:
            made.add(words(200))
            made.add(Document(f"late{i}", f"the late fox {i}") for i in range(10))
            made.delete([f"d{i}" for i in range(0, 40, 2)])
            yield made
