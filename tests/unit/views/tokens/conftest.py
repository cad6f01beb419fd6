"""Limits for small collections."""

from __future__ import annotations

import pytest

from asterism.collection import writer as collection_writer


@pytest.fixture
def trains_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection_writer, "FLAT_TOKENS", 40)
