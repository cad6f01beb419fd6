"""A collection that holds the first group."""

from __future__ import annotations

from pathlib import Path

import pytest

from asterism import Views
from asterism.collection.collection import Collection
from asterism.settings import TokenBuild
from tests.unit.collection.groups import put


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    made = Collection.create(tmp_path / "x", Views(TokenBuild(threads=1)), {})
    put(made, 0)
    return made
