"""Cross-encoders as classifiers: the same scores when they are read back, and what cannot be exported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asterism import load_pair_scorer
from asterism.encoders.checkpoints.exporting import export_model
from asterism.errors import InputError
from tests import layouts

TANH = [{"linear": "inner", "activation": "tanh"}, {"linear": "score"}]


@pytest.mark.parametrize("layers", [[{"linear": "score"}], TANH], ids=["linear", "tanh"])
def test_scores_stay_the_same(tmp_path: Path, layers: list[Any]) -> None:
    folder = layouts.cls_cross_encoder(tmp_path / "model", layers)
    (folder / "README.md").write_text("a card")
    assert export_model(folder, tmp_path / "export", "sentence-transformers") == ()
    ours, theirs = load_pair_scorer(folder), load_pair_scorer(tmp_path / "export", document_length=48)
    for query in layouts.TEXTS[:3]:
        expected = ours.score(query, layouts.TEXTS)
        np.testing.assert_allclose(theirs.score(query, layouts.TEXTS), expected, atol=1e-4)
        assert np.ptp(expected) > 0.01
    config = json.loads((tmp_path / "export" / "config.json").read_text())
    assert config["architectures"] == ["BertForSequenceClassification"]
    assert json.loads((tmp_path / "export" / "tokenizer_config.json").read_text())["model_max_length"] == 48
    assert (tmp_path / "export" / "README.md").read_text() == "a card"


@pytest.mark.parametrize(
    ("make", "layout", "message"),
    [
        (layouts.emb_cross_encoder, "sentence-transformers", r"has the \[EMB\] form with markers, which"),
        (layouts.emb_cross_encoder, "pylate", "is a cross-encoder, which pylate folders cannot express"),
        (
            lambda folder: layouts.cls_cross_encoder(folder, [{"linear": "inner", "activation": "gelu"}, TANH[1]]),
            "sentence-transformers",
            "has layers over \\[CLS\\] that .* cannot express, expected one linear layer",
        ),
    ],
    ids=["emb", "pylate", "gelu"],
)
def test_what_cannot_be_exported(tmp_path: Path, make: Callable[[Path], Path], layout: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        export_model(make(tmp_path / "model"), tmp_path / "export", layout)
    assert not (tmp_path / "export").exists()
