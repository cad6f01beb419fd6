"""A checkpoint that tests copy, change and damage."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import layouts


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return layouts.colbert(tmp_path_factory.mktemp("good") / "model")
