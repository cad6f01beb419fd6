"""Indexes made with tiny random checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from asterism import Document, EncoderSettings, Retriever
from asterism.collection.policy import Policy
from tests import layouts
from tests.unit.retriever import all_views
from tests.unit.retriever.all_views import PutWith
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
    """Large enough to be coded, in several segments, with deleted documents in it."""
    policy = Policy(flat_tokens=1000)
    with Retriever.create(tmp_path_factory.mktemp("clustered") / "x.ast", model, policy=policy) as made:
        made.add(words(200))
        made.add(Document(f"late{i}", f"the late fox {i}") for i in range(10))
        made.delete([f"d{i}" for i in range(0, 40, 2)])
        yield made


@pytest.fixture(scope="session")
def m3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Has all views, terms by its own weights."""
    return layouts.bge_m3(tmp_path_factory.mktemp("models") / "m3")


@pytest.fixture(scope="session")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Has token vectors; words are counted."""
    return layouts.colbert(tmp_path_factory.mktemp("models") / "colbert")


@pytest.fixture(scope="session")
def single(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Has a vector for a text; words are counted."""
    return layouts.sentence_transformer(tmp_path_factory.mktemp("models") / "dense")


@pytest.fixture
def put_with(tmp_path: Path, closed_later: Callable[[Retriever], Retriever]) -> PutWith:
    """Makes an index of documents with a given model."""

    def make(model: Path, documents: list[Document] = all_views.FEW, **settings: Any) -> Retriever:
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}.ast"
        made = closed_later(Retriever.create(folder, model, encoder=EncoderSettings(precision="float32"), **settings))
        made.add(documents)
        return made

    return make


@pytest.fixture(scope="session")
def full(m3: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Retriever]:
    """All views; not to be changed."""
    with Retriever.create(tmp_path_factory.mktemp("full") / "x.ast", m3) as made:
        made.add(all_views.FEW)
        yield made
