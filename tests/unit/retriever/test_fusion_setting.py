"""The fusion that is stored with an index, and the weights that follow from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asterism import HybridSearch, Retriever
from asterism.errors import DamagedIndex, InputError
from tests.unit.retriever.all_views import FEW, QUERY, PutWith, scores
from tests.unit.retriever.documents import write_documents


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


@pytest.mark.parametrize("fact", [{"fusion": "magic"}, {"weights": "many"}, {"colour": 1}], ids=repr)
def test_forged_settings_of_hybrid_search_are_damage(put_with: PutWith, m3: Path, fact: dict[str, Any]) -> None:
    made = put_with(m3, write_documents(12))
    made.collection.put_fact("fusion", fact)
    for use in (lambda: made.search("fox"), made.check, lambda: made.weights):
        with pytest.raises(DamagedIndex, match="fusion"):
            use()


def test_fusion_uses_the_profile(put_with: PutWith, m3: Path) -> None:
    made = put_with(m3, write_documents(24))
    assert made.weights == tuple(made.profile.weigh(view) for view in ("dense", "lexical", "multi"))
    made.fusion = HybridSearch(weights=(1, 2, 3))
    assert made.weights == (1, 2, 3)
    found = made.search("the quick fox", settings=HybridSearch(calibrated=True))
    plain = made.search("the quick fox", settings=HybridSearch())
    assert found.ids == plain.ids
    expected = made.profile.calibrate(np.array([hit.score for hit in plain], np.float32))
    np.testing.assert_allclose([hit.score for hit in found], expected, atol=1e-6)
