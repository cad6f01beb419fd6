"""Every layout against its reference library: golden outputs always, the library itself where it is installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import asterism
from asterism.encoders.encoder import Encoder

from .references import GOLDEN, LAYOUTS, M3_WEIGHTS, PAIRS, TEXTS, reference

TOLERANCE = 1e-4
ENCODERS = [name for name in LAYOUTS if "cross_encoder" not in name]
SCORERS = [name for name in LAYOUTS if "cross_encoder" in name]
PACKAGES = {"bge_m3": "FlagEmbedding", "pylate": "pylate", "colbert": "torch", "constbert": "torch", "xtr": "torch"}


def ours(name: str, folder: Path, **settings: object) -> dict[str, np.ndarray]:
    """The same arrays as the reference's."""
    if name in SCORERS:
        scorer = asterism.load_pair_scorer(folder)
        return {"score": np.array([scorer.score(query, [text])[0] for query, text in PAIRS])}
    encoder = asterism.load_encoder(folder, long="truncate", **settings)
    arrays = {}
    for side, found in (("query", encoder.encode_query(TEXTS)), ("document", encoder.encode_document(TEXTS))):
        if found.dense is not None:
            arrays[f"{side}.dense"] = found.dense
        if found.multi is not None:
            arrays[f"{side}.vectors.flat"] = found.multi.flat
            arrays[f"{side}.vectors.offsets"] = found.multi.offsets
        if found.lexical is not None:
            arrays[f"{side}.terms.flat"] = found.lexical.terms
            arrays[f"{side}.weights.flat"] = found.lexical.weights
            arrays[f"{side}.terms.offsets"] = arrays[f"{side}.weights.offsets"] = found.lexical.offsets
    if name == "bge_m3":
        arrays |= m3_scores(encoder)
    return arrays


def m3_scores(encoder: Encoder) -> dict[str, np.ndarray]:
    """The five scores of FlagEmbedding's compute_score, from our views; its combinations are weighted means."""
    queries, texts = (encoder.encode_query([pair[i] for pair in PAIRS]) for i in (0, 1))
    single = {"colbert": [], "sparse": [], "dense": []}
    for i in range(len(PAIRS)):
        single["colbert"].append(np.mean(np.max(queries.multi[i] @ texts.multi[i].T, axis=1)))
        (terms, weights), (others, other_weights) = queries.lexical[i], texts.lexical[i]
        common, left, right = np.intersect1d(terms, others, return_indices=True)
        single["sparse"].append(float(weights[left] @ other_weights[right]) if len(common) else 0.0)
        single["dense"].append(float(queries.dense[i] @ texts.dense[i]))
    scores = {name: np.array(values, np.float32) for name, values in single.items()}
    dense, sparse, colbert = M3_WEIGHTS
    scores["sparse+dense"] = (scores["sparse"] * sparse + scores["dense"] * dense) / (sparse + dense)
    scores["colbert+sparse+dense"] = sum(
        scores[n] * w for n, w in (("colbert", colbert), ("sparse", sparse), ("dense", dense))
    )
    return {f"score.{name}": values for name, values in scores.items()}


def compare(name: str, expected: dict[str, np.ndarray], found: dict[str, np.ndarray]) -> None:
    assert expected
    for key, values in expected.items():
        got = found[key][: len(values)] if name in SCORERS else found[key]
        assert got.shape == values.shape, key  # the same tokens were chosen
        assert np.abs(got - values).max(initial=0) <= TOLERANCE, key


@pytest.mark.parametrize("name", LAYOUTS)
def test_golden(name: str, tmp_path: Path) -> None:
    with np.load(GOLDEN / f"{name}.npz") as golden:
        compare(name, dict(golden), ours(name, LAYOUTS[name](tmp_path / "model")))


@pytest.mark.reference
@pytest.mark.parametrize("name", LAYOUTS)
def test_live(name: str, tmp_path: Path) -> None:
    pytest.importorskip(PACKAGES.get(name, "sentence_transformers"))
    folder = LAYOUTS[name](tmp_path / "model")
    compare(name, reference(name, folder), ours(name, folder))


@pytest.mark.reference
@pytest.mark.parametrize("name", [name for name in ENCODERS if name != "constbert"])
def test_torch_runtime(name: str, tmp_path: Path) -> None:
    """Both runtimes give the same numbers."""
    pytest.importorskip("transformers")
    folder = LAYOUTS[name](tmp_path / "model")
    compare(name, ours(name, folder, runtime="torch"), ours(name, folder))
