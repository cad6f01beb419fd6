"""Views put together from the outputs of a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

import asterism
from asterism.encoders.batching import make_batches
from asterism.encoders.encoder import Encoder
from asterism.encoders.tokens import Row
from asterism.errors import SettingError
from tests import layouts


def run_row(encoder: Encoder, output: str, ids: np.ndarray, attended: int, shares: np.ndarray) -> np.ndarray:
    """One output of the model for one row of ids."""
    (batch,) = make_batches([Row(0, ids, attended, 0, len(ids))], 1)
    return encoder._chunk_encoder.backbone.run([output], batch, shares)[output]


def test_more_than_one_cls(tmp_path: Path) -> None:
    """MCLS: the average of the states of [CLS], put by hand before each further 8 tokens."""
    folder = layouts.bge_m3(tmp_path / "model")
    words = [layouts.WORDS[i % 40] for i in range(50)]
    encoder = asterism.load_encoder(folder, cls_every=8)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    ids = tokenizer.encode(" ".join(words), add_special_tokens=False).ids
    by_hand = [0, *(i for start in range(0, len(ids), 8) for i in ([0] if start else []) + ids[start : start + 8]), 2]
    row = np.array([by_hand])
    shares = (row == 0).astype(np.float32)
    assert shares.sum() == -(-len(ids) // 8)
    pooled = run_row(encoder, "pooled", row[0], row.shape[1], shares / shares.sum())
    found = encoder.encode_document([" ".join(words), "fox"])
    np.testing.assert_allclose(found.dense[0], pooled[0] / np.linalg.norm(pooled[0]), atol=1e-5)
    assert len(found.multi[0]) == len(ids) + 1  # no vector for any [CLS], one for the end
    plain = asterism.load_encoder(folder).encode_document(["fox"])
    np.testing.assert_allclose(found.dense[1], plain.dense[0], atol=1e-5)
    with pytest.raises(SettingError, match="cls_every"):
        asterism.load_encoder(layouts.colbert(tmp_path / "colbert"), cls_every=8)


def test_constant_vectors(tmp_path: Path) -> None:
    encoder = asterism.load_encoder(layouts.constbert(tmp_path / "model"))
    found = encoder.encode_document(["", "fox", "fox " * 500])
    assert np.diff(found.multi.offsets).tolist() == [8, 8, 8]
    assert found.truncated == 1
    assert encoder.describe()["vectors_per_document"] == 8


def test_the_papers_full_pooling(tmp_path: Path) -> None:
    """δ = Wᵀ[d1 … dM] over the concatenated, projected states, written out."""
    folder = layouts.full_constant_pooling(tmp_path / "model")
    encoder = asterism.load_encoder(folder)
    found = encoder.encode_document(["fox dog"])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    ids = tokenizer.encode("fox dog").ids
    row = np.array([ids + [0] * (12 - len(ids))])
    shares = np.zeros((1, 12), np.float32)
    states = run_row(encoder, "states", row[0], len(ids), shares)[0]
    projected = states @ layouts.numbers("projection", (16, 32)).T
    mixed = (layouts.numbers("full", (64, 192)) @ projected.reshape(-1)).reshape(4, 16)
    expected = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
    np.testing.assert_allclose(found.multi[0], expected, atol=1e-5)
    assert set(found.lexical[0][0]) <= set(ids[1:-1])  # neither the frame nor the padding has a weight
    assert encoder.describe()["vectors_per_document"] == 4
