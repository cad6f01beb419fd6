from __future__ import annotations

from pathlib import Path

import pytest

from tests.training import tiny


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_model(tmp_path_factory.mktemp("tiny") / "model")


@pytest.fixture(scope="session")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_pairs(tmp_path_factory.mktemp("tiny") / "pairs.jsonl")
