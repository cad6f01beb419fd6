"""The small layers after a transformer: plain arrays, applied with NumPy or written into a graph."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ...errors import CheckpointError
from .graph import FUSED, Graph

Floats = npt.NDArray[np.float32]
Activation = Literal["identity", "relu", "tanh", "gelu", "silu"]
Pooling = Literal["cls", "mean"]

TINY = 1e-12  # a zero vector stays zero when it is normalised, as in torch


@dataclass(frozen=True)
class Linear:
    """(…, in) -> (…, out): activation(x·Wᵀ + b), plus R·x or x itself if there is a residual.

    weight (out, in), bias (out,) or None; residual (out, in), "same" for x itself, or None.
    """

    weight: Floats
    bias: Floats | None = None
    activation: Activation = "identity"
    residual: Floats | Literal["same"] | None = None

    @property
    def outputs(self) -> int:
        """The number of dimensions after the layer."""
        return len(self.weight)

    def __call__(self, x: Floats) -> Floats:
        """Apply with NumPy."""
        y: Floats = x @ self.weight.T
        if self.bias is not None:
            y = y + self.bias
        y = _ACTIVATIONS[self.activation](y)
        if self.residual is not None:
            y = y + (x if isinstance(self.residual, str) else x @ self.residual.T)
        return y

    def write(self, graph: Graph, x: str) -> str:
        """Write as nodes."""
        y = graph.add_node("MatMul", x, graph.add_constant(self.weight.T))
        if self.bias is not None:
            y = graph.add_node("Add", y, graph.add_constant(self.bias))
        y = _write_activation(self.activation, graph, y)
        if self.residual is None:
            return y
        if not isinstance(self.residual, str):
            x = graph.add_node("MatMul", x, graph.add_constant(self.residual.T))
        return graph.add_node("Add", y, x)


@dataclass(frozen=True)
class Gated:
    """(…, in) -> (…, out): (activation(x·Gᵀ) * (x·Uᵀ))·Dᵀ, the gated feed-forward projection of arXiv 2510.12327.

    gate and up (inner, in), down (out, inner).
    """

    gate: Floats
    up: Floats
    down: Floats
    activation: Activation = "silu"

    @property
    def outputs(self) -> int:
        """The number of dimensions after the layer."""
        return len(self.down)

    def __call__(self, x: Floats) -> Floats:
        """Apply with NumPy."""
        y: Floats = (_ACTIVATIONS[self.activation](x @ self.gate.T) * (x @ self.up.T)) @ self.down.T
        return y

    def write(self, graph: Graph, x: str) -> str:
        """Write as nodes."""
        gate, up = (graph.add_node("MatMul", x, graph.add_constant(part.T)) for part in (self.gate, self.up))
        inner = graph.add_node("Mul", _write_activation(self.activation, graph, gate), up)
        return graph.add_node("MatMul", inner, graph.add_constant(self.down.T))


class UnitLength:
    """(…, d) -> (…, d) of length 1."""

    def __call__(self, x: Floats) -> Floats:
        """Apply with NumPy."""
        length = np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), TINY)
        return np.asarray(x / length, np.float32)

    def write(self, graph: Graph, x: str) -> str:
        """Write as nodes."""
        length = graph.add_node("ReduceL2", x, graph.add_constant(np.array([-1])), keepdims=1)
        return graph.add_node("Div", x, graph.add_node("Max", length, graph.add_constant(np.array(TINY, np.float32))))


Projection = Linear | Gated
Layers = Sequence[Projection | UnitLength]


def apply_layers(layers: Layers, x: Floats) -> Floats:
    """All layers, one after the other, with NumPy."""
    for layer in layers:
        x = layer(x)
    return x


def write_layers(layers: Layers, graph: Graph, x: str) -> str:
    """The nodes of all layers, one after the other."""
    for layer in layers:
        x = layer.write(graph, x)
    return x


@dataclass(frozen=True)
class DenseHead:
    """One vector per text: a weighted sum of the states ([CLS] alone, or the mean), then layers."""

    pooling: Pooling
    layers: Layers


@dataclass(frozen=True)
class LexicalHead:
    """A weight for each token id of a text: ReLU(w·state + b), the largest over its places; `dropped` ids have none."""

    layer: Linear
    dropped: frozenset[int]


@dataclass(frozen=True)
class ConstantPooling:
    """ConstBERT: (texts, M, d) -> (texts, C, d), C vectors for any text.

    weight (C, M), shared over the dimensions as in the published model, applied to the states before the projection;
    or (C·k, M·k), the paper's full matrix, applied to the projected vectors. bias (C,), (C·k,) or None.
    """

    weight: Floats
    bias: Floats | None
    positions: int  # M

    @property
    def is_full(self) -> bool:
        """Whether it is the paper's full matrix."""
        return bool(self.weight.shape[1] != self.positions)

    def __call__(self, x: Floats) -> Floats:
        """Apply with NumPy; the columns of the shared form are positions, so it is multiplied from the left."""
        texts, positions, width = x.shape
        if positions != self.positions:
            raise CheckpointError(f"pooling got {positions} positions, expected {self.positions}")
        y: Floats
        if self.is_full:
            y = x.reshape(texts, -1) @ self.weight.T
            y = y if self.bias is None else y + self.bias
            return y.reshape(texts, -1, width)
        y = self.weight @ x  # (C, M) @ (texts, M, d)
        return y if self.bias is None else y + self.bias[:, None]


def compute_width(layers: Layers, width: int) -> int:
    """The number of dimensions after `layers`."""
    for layer in layers:
        width = layer.outputs if isinstance(layer, Projection) else width
    return width


@dataclass(frozen=True)
class MultiVectorHead:
    """A vector for each token, or C vectors for the document if there is constant pooling."""

    layers: Layers
    pooling: ConstantPooling | None = None

    def pool_states(self, states: Floats) -> Floats:
        """(texts, M, hidden) -> (texts, C, d)."""
        pooling = self.pooling
        if pooling is None:
            return apply_layers(self.layers, states)
        if not pooling.is_full:
            return apply_layers(self.layers, pooling(states))
        last = max(i for i, layer in enumerate(self.layers) if isinstance(layer, Projection)) + 1
        return apply_layers(self.layers[last:], pooling(apply_layers(self.layers[:last], states)))


def _gelu(x: Floats) -> Floats:
    """x·Φ(x), by Abramowitz and Stegun 7.1.26 (error below 2e-7), because NumPy has no error function."""
    z = np.abs(x) / math.sqrt(2)
    t = 1 / (1 + 0.3275911 * z)
    powers = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return np.asarray(0.5 * x * (1 + np.sign(x) * (1 - powers * np.exp(-z * z))), np.float32)


def _silu(x: Floats) -> Floats:
    """x·sigmoid(x), without the overflow of exp(-x)."""
    small = np.exp(-np.abs(x))
    return np.asarray(x * np.where(x >= 0, np.float32(1), small) / (1 + small), np.float32)


def _write_activation(activation: Activation, graph: Graph, x: str) -> str:
    if activation == "identity":
        return x
    if activation == "silu":
        return graph.add_node("Mul", x, graph.add_node("Sigmoid", x))
    kind, domain = _OPERATORS[activation]
    return graph.add_node(kind, x, domain=domain)


_ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "identity": lambda x: x,
    "relu": lambda x: np.maximum(x, np.float32(0)),
    "tanh": np.tanh,
    "gelu": _gelu,
    "silu": _silu,
}
_OPERATORS = {"relu": ("Relu", ""), "tanh": ("Tanh", ""), "gelu": ("Gelu", FUSED)}
