"""A checkpoint that tests read, or copy and damage."""

from __future__ import annotations

from pathlib import Path

import pytest

from asterism.encoders.checkpoints.checkpoint import Checkpoint
from asterism.encoders.checkpoints.layouts import open_checkpoint
from tests import layouts


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return layouts.colbert(tmp_path_factory.mktemp("good") / "model")


@pytest.fixture(scope="module")
def bert(good: Path) -> Checkpoint:
    return open_checkpoint(good)
