"""BERT in NumPy, from the formulas."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from asterism.encoders.tokens import Row
from tests.layouts import HEADS, HIDDEN


@dataclass(frozen=True)
class NumpyBert:
    """Layers over one row (tokens, hidden), in float64."""

    weights: dict[str, np.ndarray]
    epsilon: float
    first_position: int

    def embed(self, ids: np.ndarray) -> np.ndarray:
        words, positions, types = (
            self.weights[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "position", "token_type")
        )
        places = np.arange(len(ids)) + self.first_position
        return self.normalise(words[ids] + positions[places].astype(np.float64) + types[0], "embeddings")

    def run_layer(self, layer: int, x: np.ndarray, attended: int) -> np.ndarray:
        at = f"encoder.layer.{layer}."
        query, key, value = (self.multiply(x, f"{at}attention.self.{part}") for part in ("query", "key", "value"))
        mixed = np.zeros_like(x)
        for head in range(HEADS):
            own = slice(head * HIDDEN // HEADS, (head + 1) * HIDDEN // HEADS)
            similarities = query[:, own] @ key[:attended, own].T / math.sqrt(HIDDEN // HEADS)
            shares = np.exp(similarities - similarities.max(axis=1, keepdims=True))
            mixed[:, own] = shares @ value[:attended, own] / shares.sum(axis=1, keepdims=True)
        x = self.normalise(x + self.multiply(mixed, f"{at}attention.output.dense"), f"{at}attention.output")
        inner = self.multiply(x, f"{at}intermediate.dense")
        inner = inner * (1 + np.vectorize(math.erf)(inner / math.sqrt(2))) / 2
        return self.normalise(x + self.multiply(inner, f"{at}output.dense"), f"{at}output")

    def multiply(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self.weights[f"{name}.weight"].astype(np.float64).T + self.weights[f"{name}.bias"]

    def normalise(self, x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(axis=1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True) + self.epsilon)
        scale, shift = (self.weights[f"{name}.LayerNorm.{part}"] for part in ("weight", "bias"))
        return centred / deviation * scale + shift

    def run(self, row: Row, layers: int) -> np.ndarray:
        x = self.embed(row.ids)
        for layer in range(layers):
            x = self.run_layer(layer, x, row.attended)
        return x
