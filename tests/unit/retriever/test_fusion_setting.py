"""The fusion that is stored with an index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from asterism import HybridSearch, Retriever
from asterism.errors import InputError
from tests.unit.retriever.all_views import FEW, QUERY, PutWith, scores


def test_the_fusion_is_kept(put_with: PutWith, m3: Path) -> None:
    made = put_with(m3)
    chosen = HybridSearch(fusion="rrf", weights=(0.5, 0.25, 1), depth=7)
    made.fusion = chosen
    expected = made.search(QUERY, settings=chosen)
    with Retriever.open(made.path) as opened:
        opened.update(FEW[:1])
        opened.compact()
        assert (opened.fusion, opened.weights) == (chosen, (0.5, 0.25, 1))
        assert scores(opened, "hybrid") == {hit.id: pytest.approx(hit.score) for hit in expected}
        assert scores(opened, "hybrid:linear") == scores(opened, "hybrid", settings=HybridSearch(fusion="linear"))
        opened.check()


@pytest.mark.parametrize("wrong", [{"fusion": "rrf"}, None, "rrf", (1, 1, 1)])
def test_a_wrong_fusion_is_not_kept(full: Retriever, wrong: Any) -> None:
    with pytest.raises(InputError, match="expected HybridSearch"):
        full.fusion = wrong
    assert full.fusion == HybridSearch()
