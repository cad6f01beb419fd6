"""The default model against transformers, at both precisions."""

from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import asterism
from asterism.encoders.checkpoints.weights.safetensors_files import read_safetensors
from asterism.models.registry import DEFAULT, HEADS

from .references import GOLDEN, MINILM_TEXTS
from .references import minilm as states_by_transformers

DATA = Path(__file__).parents[3] / "shared" / "data"


def expected(states: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Dense vectors and token vectors by hand, from the states."""
    heads = read_safetensors(HEADS / DEFAULT / "heads.safetensors")
    weight, bias = heads["projection.weight"].read(), heads["projection.bias"].read()
    dense = np.stack([text.mean(axis=0) for text in states])
    tokens = np.concatenate([text[1:-1] for text in states]) @ weight.T + bias
    return tuple(rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (dense, tokens))


def golden_states() -> list[np.ndarray]:
    with np.load(GOLDEN / "minilm.npz") as stored:
        return np.split(stored["states.flat"], stored["states.offsets"][1:-1])


def test_float32(minilm: Path) -> None:
    dense, tokens = expected(golden_states())
    found = asterism.load_encoder().encode_document(MINILM_TEXTS)
    assert np.abs(found.dense - dense).max() <= 1e-4
    assert np.abs(found.multi.flat - tokens).max() <= 1e-4


def test_int8(minilm: Path) -> None:
    dense, tokens = expected(golden_states())
    found = asterism.load_encoder(precision="int8").encode_document(MINILM_TEXTS)
    assert np.einsum("ij,ij->i", found.dense, dense).mean() >= 0.99
    assert np.einsum("ij,ij->i", found.multi.flat, tokens).mean() >= 0.99


def test_int8_does_not_depend_on_the_batch(minilm: Path) -> None:
    encoder = asterism.load_encoder(precision="int8")
    together, alone = encoder.encode_document(MINILM_TEXTS), encoder.encode_document(MINILM_TEXTS[:1])
    np.testing.assert_allclose(together.multi[0], alone.multi[0], atol=1e-4)


@pytest.mark.reference
def test_a_thousand_passages(minilm: Path) -> None:
    pytest.importorskip("transformers")
    file = DATA / "debian_desc_en" / "corpus.jsonl.gz"
    if not file.exists():
        pytest.skip(f"{file} is not here")
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in islice(lines, 1000)]
    dense, tokens = expected(states_by_transformers(texts, minilm))
    found = asterism.load_encoder(long="truncate").encode_document(texts)
    assert np.abs(found.dense - dense).max() <= 1e-4
    assert np.abs(found.multi.flat - tokens).max() <= 1e-4
