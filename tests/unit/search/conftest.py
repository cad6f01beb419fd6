"""A collection that the tests of fusion share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from asterism import Collection

from .by_hand import collection_of
from .few_texts import FEW


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """Not to be changed."""
    with closing(collection_of(tmp_path_factory.mktemp("few") / "x", FEW[:2], FEW[2:])) as made:
        yield made
