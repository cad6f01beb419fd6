"""These tests have an environment of their own (`make test-train`): where torch is not installed, none is collected."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.training import tiny

collect_ignore_glob = [] if find_spec("torch") else ["test_*.py"]


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_model(tmp_path_factory.mktemp("tiny") / "model")


@pytest.fixture(scope="session")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_pairs(tmp_path_factory.mktemp("tiny") / "pairs.jsonl")
