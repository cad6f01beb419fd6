"""A small index for the adapters, on a tiny random checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from asterism import Document, Retriever
from tests import layouts

FEW = [
    Document("fox", "The quick brown fox jumps over the lazy dog.", "Animals", {"year": 1999, "tags": ["a", "b"]}),
    Document("light", "Who first measured the speed of light?", "Speed", {"title": "Mine", "score": 5}),
    Document("again", "Who first measured the speed of light?", "", {"year": 2001}),
    Document("python", "Run a function every few seconds.", "", {"year": 2020}),
]


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return layouts.colbert(tmp_path_factory.mktemp("models") / "colbert")


@pytest.fixture(scope="session")
def few(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Retriever]:
    """Not to be changed."""
    with Retriever.create(tmp_path_factory.mktemp("few") / "x.ast", model) as made:
        made.add(FEW)
        yield made


@pytest.fixture
def all_views(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Retriever]:
    """An empty index with dense vectors, token vectors and words."""
    with Retriever.create(tmp_path / "x.ast", layouts.bge_m3(tmp_path_factory.mktemp("models") / "m3")) as made:
        yield made
