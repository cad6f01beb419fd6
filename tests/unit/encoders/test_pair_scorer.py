"""What a cross-encoder accepts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import asterism
from asterism.errors import SettingError, TextError
from tests import layouts


def test_input(tmp_path: Path) -> None:
    scorer = asterism.load_pair_scorer(layouts.cross_encoder(tmp_path / "model"))
    scores = scorer.score("who", ["fox", "the dog runs", ""])
    assert scores.shape == (3,)
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores[1], scorer.score("who", ["the dog runs"])[0], atol=1e-5)
    assert scorer.score("who", []).shape == (0,)
    assert scorer.truncated == 0
    scorer.score("fox " * 100, ["dog " * 100])
    assert scorer.truncated == 1
    with pytest.raises(TextError, match="text 0 is a int"):
        scorer.score("who", [3])
    with pytest.raises(TextError, match="query 0 is a int"):
        scorer.score(3, ["who"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"document_length": 600}, "from 16 to 64"), ({"document_length": 3}, "from 16"), ({"cls_every": 8}, "cls_every")],
)
def test_settings(tmp_path: Path, settings: dict[str, int], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        asterism.load_pair_scorer(layouts.cross_encoder(tmp_path / "model"), **settings)
