"""A cache of models for each test."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASTERISM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
