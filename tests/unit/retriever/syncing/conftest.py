"""A folder of notes and an index of words, which needs no model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from asterism import Retriever
from asterism.documents.folders import taking


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.md").write_text("# Foxes\n\nThe quick brown fox.\n")
    (folder / "b.txt").write_text("The lazy dog sleeps.\n")
    (folder / "deep" / "c.rst").write_text("Light\n=====\n\nThe speed of light.\n")
    return folder


@pytest.fixture
def retriever(tmp_path: Path) -> Iterator[Retriever]:
    with Retriever.create(tmp_path / "x.ast", views=["lexical"]) as made:
        yield made


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files count as settled at once, instead of after two seconds."""
    monkeypatch.setattr(taking, "SETTLED", -(10**12))
