"""Exported models in the libraries they were exported for: the vectors are those of the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import asterism
from asterism.encoders.checkpoints.exporting import export_model
from tests import layouts

from .references import PAIRS, TEXTS, multi_vector_modules, pylate

TOLERANCE = 1e-4
EXPANDED = {"length": 16, "marker": "[unused0]", "expand_to": 16, "filler": "[MASK]"}
SECTIONS: dict[str, dict[str, Any]] = {
    "markers": {},
    "attended, prompts": {
        "query": EXPANDED | {"prompt": "how: ", "attend": True},
        "document": {"length": 40, "marker": "[unused1]", "prompt": "the file: "},
    },
    "no expansion": {"query": {"length": 24, "marker": "[unused0]"}},
    "no marker": {"query": {"length": 16}, "document": {"length": 40}},
}
ONLY_MODULES: dict[str, dict[str, Any]] = {
    "skipped on both sides": {
        "query": EXPANDED | {"skipped": ["[CLS]", "[SEP]", "."], "windows": False},
        "document": {"length": 40, "skipped": ["[CLS]", "[SEP]"]},
    },
    "partly filled": {"query": EXPANDED | {"expand_to": 12}},
    "other filler": {"query": EXPANDED | {"filler": "[PAD]", "windows": False}},
}


def compare(folder: Path, theirs: dict[str, np.ndarray]) -> None:
    encoder = asterism.load_encoder(folder, long="truncate")
    for side, found in (
        ("query", encoder.encode_query(TEXTS).multi),
        ("document", encoder.encode_document(TEXTS).multi),
    ):
        np.testing.assert_array_equal(found.offsets, theirs[f"{side}.vectors.offsets"])  # the same tokens
        np.testing.assert_allclose(found.flat, theirs[f"{side}.vectors.flat"], atol=TOLERANCE)


@pytest.mark.reference
@pytest.mark.parametrize("activation", ["gelu", "silu"])
@pytest.mark.parametrize("name", SECTIONS | ONLY_MODULES)
def test_sentence_transformers(name: str, activation: str, tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", minversion="6")
    layers = [{"linear": "wide", "activation": activation}, {"linear": "narrow"}, "unit_length"]
    sections = (SECTIONS | ONLY_MODULES)[name] | {"multi_vector": {"layers": layers}}
    folder = layouts.linear_heads(tmp_path / "model", **sections)
    export_model(folder, tmp_path / "export", "sentence-transformers")
    compare(folder, multi_vector_modules(tmp_path / "export"))


@pytest.mark.reference
@pytest.mark.parametrize("name", SECTIONS)
def test_pylate(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pylate")
    folder = layouts.linear_heads(tmp_path / "model", **SECTIONS[name])
    export_model(folder, tmp_path / "export", "pylate")
    compare(folder, pylate(tmp_path / "export"))


@pytest.mark.reference
@pytest.mark.parametrize("name", SECTIONS)
def test_pylate_folder_in_sentence_transformers(name: str, tmp_path: Path) -> None:
    """Which reads PyLate's folders too."""
    pytest.importorskip("sentence_transformers", minversion="6")
    folder = layouts.linear_heads(tmp_path / "model", **SECTIONS[name])
    export_model(folder, tmp_path / "export", "pylate")
    compare(folder, multi_vector_modules(tmp_path / "export"))


@pytest.mark.reference
@pytest.mark.parametrize("layers", [1, 2])
def test_cross_encoder(layers: int, tmp_path: Path) -> None:
    """CrossEncoder gives the scores as they are, for pairs that fit."""
    pytest.importorskip("sentence_transformers", minversion="6")
    from sentence_transformers import CrossEncoder

    listed = [{"linear": "inner", "activation": "tanh"}, {"linear": "score"}][-layers:]
    folder = layouts.cls_cross_encoder(tmp_path / "model", listed)
    export_model(folder, tmp_path / "export", "sentence-transformers")
    theirs = CrossEncoder(str(tmp_path / "export"), device="cpu")
    assert theirs.max_seq_length == 48
    scorer = asterism.load_pair_scorer(folder)
    found = [scorer.score(query, [text])[0] for query, text in PAIRS[:8]]
    np.testing.assert_allclose(found, theirs.predict(PAIRS[:8]), atol=TOLERANCE)
