"""Limits for small collections."""

from __future__ import annotations

import pytest

from asterism.collection import writer as collection_writer


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a few documents take a collection through all that happens to large ones."""
    monkeypatch.setattr(collection_writer, "FLAT_TOKENS", 60)
    monkeypatch.setattr(collection_writer, "MOST_SEGMENTS", 4)
    monkeypatch.setattr(collection_writer, "OUTGROWN", 3)
