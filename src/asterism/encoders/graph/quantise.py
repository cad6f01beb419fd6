"""The matrix products of a graph in 8 bits, with ranges that are measured once.

A few columns of a transformer's states are many times larger than the others, so one scale for all columns leaves the
others only a few levels. This, not the precision of the weights, is what damages token vectors. So columns are smoothed
first, partly in the states and partly in the weights (SmoothQuant, equation 4): x·Wᵀ = (x/s)·(s∘W)ᵀ with s = largest
|x|^α / largest |w|^(1-α) of each column. The ranges come from running the float graph on a few pages of prose that the
package ships. They are part of the graph, so a text's vectors do not depend on the other texts of its batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...errors import CheckpointError
from ...models.registry import HEADS
from ..checkpoints.weights.tensors import StoredTensor
from ..tokens import TextRules, TextTokenizer
from .graph import FUSED, Graph

Floats = npt.NDArray[np.float32]

# Seven bits: without VNNI two products are added in 16 bits, which 2 · 255 · 64 does not exceed.
WEIGHT_LEVELS = 63
STRENGTH = 0.7  # α: the best for MiniLM's token vectors of 0.5 to 1 (mean cosine 0.996; 0.987 at 0.5, 0.72 at 0)
CALIBRATION_ROWS, CALIBRATION_TOKENS = 48, 128
PROSE = HEADS / "calibration.txt"


@dataclass(frozen=True)
class Smoothing:
    """The input of some weights: its lowest and highest value after division by `even` (in,)."""

    even: Floats
    low: float
    high: float


class MeasuringGraph(Graph):
    """The float graph, with the range of every product's input as further outputs."""

    def __init__(self) -> None:
        """An empty graph."""
        super().__init__()
        self._weights: dict[str, list[StoredTensor]] = {}  # input -> weights
        self._outputs_of: dict[str, str] = {}

    @property
    def ranges(self) -> list[str]:
        """The names of the outputs that hold the ranges."""
        return [f"{name}.{end}" for name in self._outputs_of.values() for end in ("low", "high")]

    def add_linear(self, x: str, weight: StoredTensor, bias: StoredTensor | None) -> str:
        """As in the float graph, and two more outputs for each new input."""
        self._weights.setdefault(x, []).append(weight)
        if x not in self._outputs_of:
            name = self._outputs_of[x] = f"range{len(self._outputs_of)}"
            rows = self.add_constant(np.array([0]))
            for end, kind in (("low", "ReduceMin"), ("high", "ReduceMax")):
                self.add_output(f"{name}.{end}", self.add_node(kind, x, rows, keepdims=0), ["columns"])
        return super().add_linear(x, weight, bias)

    def compute_smoothings(self, measured: Mapping[str, Floats]) -> dict[str, Smoothing]:
        """One smoothing for all weights that share an input, by the names of the weights."""
        found: dict[str, Smoothing] = {}
        for x, weights in self._weights.items():
            low, high = (measured[f"{self._outputs_of[x]}.{end}"] for end in ("low", "high"))
            largest = np.maximum(np.maximum(-low, high), 1e-6)
            columns = np.max([np.abs(weight.read()).max(axis=0) for weight in weights], axis=0)
            even = (largest**STRENGTH / np.maximum(columns, 1e-6) ** (1 - STRENGTH)).astype(np.float32)
            smoothing = Smoothing(even, min(0.0, float((low / even).min())), max(0.0, float((high / even).max())))
            found |= {weight.name: smoothing for weight in weights}
        return found


class Int8Graph(Graph):
    """Products of 8-bit codes: states with one scale, weights with one scale per output."""

    def __init__(self, smoothings: Mapping[str, Smoothing]) -> None:
        """`smoothings` by the weight's name."""
        super().__init__()
        self._smoothings = smoothings
        self._codes: dict[str, tuple[str, str, str]] = {}

    def add_linear(self, x: str, weight: StoredTensor, bias: StoredTensor | None) -> str:
        """(rows, in) -> (rows, out)."""
        smoothing = self._smoothings[weight.name]
        if x not in self._codes:
            self._codes[x] = self._quantise(x, smoothing)
        codes, scale, zero = self._codes[x]
        values = weight.read() * smoothing.even
        steps = (np.maximum(np.abs(values).max(axis=1), 1e-12) / WEIGHT_LEVELS).astype(np.float32)
        levels = np.clip(np.rint(values / steps[:, None]), -WEIGHT_LEVELS, WEIGHT_LEVELS).astype(np.int8)
        operands = [codes, self.add_constant(levels.T), scale, self.add_constant(steps), zero]
        operands += ["", self.add_weight(bias)] if bias else []
        return self.add_node("MatMulIntegerToFloat", *operands, domain=FUSED)

    def _quantise(self, x: str, smoothing: Smoothing) -> tuple[str, str, str]:
        """(rows, in) -> bytes (rows, in), their scale and their zero point."""
        step = max(smoothing.high - smoothing.low, 1e-12) / 255
        scale = self.add_constant(np.array(step, np.float32))
        zero = self.add_constant(np.array(round(-smoothing.low / step), np.uint8))
        smooth = self.add_node("Mul", x, self.add_constant(1 / smoothing.even))
        return self.add_node("QuantizeLinear", smooth, scale, zero), scale, zero


def make_calibration_ids(tokenizer: TextTokenizer, most_tokens: int | None) -> npt.NDArray[np.int64]:
    """ids (rows, tokens) of English prose."""
    room = min(CALIBRATION_TOKENS, most_tokens or CALIBRATION_TOKENS) - len(tokenizer.before) - len(tokenizer.after)
    prose = PROSE.read_text(encoding="utf-8")
    stream = tokenizer.encode([prose], TextRules(0))[0].ids
    rows = [stream[start : start + room] for start in range(0, len(stream) - room + 1, room)][:CALIBRATION_ROWS]
    if not rows:
        raise CheckpointError(
            f"{tokenizer.file} makes {len(stream)} tokens of {len(prose)} letters of prose, expected at least {room}"
        )
    return np.array([[*tokenizer.before, *row, *tokenizer.after] for row in rows], np.int64)
