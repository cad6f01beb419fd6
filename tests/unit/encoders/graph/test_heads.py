"""Layers: by hand, with NumPy, and as nodes of a graph."""

from __future__ import annotations

import math
from typing import Any, get_args

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto

from asterism.encoders.graph.graph import Graph
from asterism.encoders.graph.heads import (
    Activation,
    Gated,
    Linear,
    UnitLength,
    apply_layers,
    compute_width,
    write_layers,
)
from tests.layouts import numbers

ACTIVATIONS = {
    "identity": lambda x: x,
    "relu": lambda x: max(x, 0.0),
    "tanh": math.tanh,
    "gelu": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    "silu": lambda x: x / (1 + math.exp(-x)),
}


def gated(activation: Activation = "silu") -> Gated:
    """6 dimensions to 3, through 5."""
    return Gated(numbers("gate", (5, 6), 2), numbers("up", (5, 6), 2), numbers("down", (3, 5), 2), activation)


def run_graph(layers: Any, x: np.ndarray) -> np.ndarray:
    graph = Graph()
    given = graph.add_input("x", TensorProto.FLOAT, ["rows", "tokens", "width"])
    graph.add_output("y", write_layers(layers, graph, given), ["rows", "tokens", "out"])
    session = onnxruntime.InferenceSession(graph.serialise(), providers=["CPUExecutionProvider"])
    return session.run(["y"], {"x": x})[0]


@pytest.mark.parametrize("activation", get_args(Activation))
def test_gated_is_the_formula(activation: Activation) -> None:
    layer, x = gated(activation), numbers("x", (6,), 3)
    act = ACTIVATIONS[activation]
    inner = []
    for i in range(5):
        gate = sum(float(layer.gate[i, j]) * float(x[j]) for j in range(6))
        up = sum(float(layer.up[i, j]) * float(x[j]) for j in range(6))
        inner.append(act(gate) * up)
    expected = [sum(float(layer.down[k, i]) * inner[i] for i in range(5)) for k in range(3)]
    np.testing.assert_allclose(layer(x), expected, atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("activation", get_args(Activation))
def test_the_graph_is_numpy(activation: Activation) -> None:
    x = numbers("x", (2, 7, 6), 3)
    linear = Linear(numbers("linear", (4, 3)), numbers("bias", (4,)), activation)
    for layers in ((gated(activation),), (gated(activation), linear, UnitLength())):
        found = run_graph(layers, x)
        np.testing.assert_allclose(found, apply_layers(layers, x), atol=2e-5, rtol=1e-5)
        assert found.dtype == np.float32
        assert compute_width(layers, 6) == found.shape[2]


def test_silu_of_large_numbers() -> None:
    x = np.array([-1e30, -200, -1, 0, 1, 200, 1e30], np.float32)
    one = Linear(np.ones((1, 1), np.float32), None, "silu")
    found = one(x[:, None])[:, 0]
    np.testing.assert_allclose(found, [0, 0, -0.26894143, 0, 0.73105857, 200, 1e30], rtol=1e-6, atol=1e-30)
