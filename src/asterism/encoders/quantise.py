"""The matrix products of a graph in 8 bits."""

from __future__ import annotations

import numpy as np

from .graph import FUSED, Graph
from .weights import StoredTensor


class Int8Graph(Graph):
    """Weights in 8 bits with a scale for each output, activations in 8 bits as they come."""

    def linear(self, x: str, weight: StoredTensor, bias: StoredTensor | None) -> str:
        """(rows, in) -> (rows, out)."""
        values = weight.read()
        # 7 bits: the products of two neighbours are added in 16 bits without saturating where there is no VNNI.
        scale = np.maximum(np.abs(values).max(axis=1), 1e-12) / 63
        codes = np.clip(np.rint(values / scale[:, None]), -63, 63).astype(np.int8)
        operands = [x, self.constant(codes.T), self.constant(scale), self.constant(np.zeros(len(scale), np.int8))]
        if bias:
            operands.append(self.stored(bias))
        return self.node("DynamicQuantizeMatMul", *operands, domain=FUSED)
