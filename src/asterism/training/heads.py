"""The trained layers after the transformer: they become the plain arrays that encoders use without torch."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from ..encoders.graph.heads import ConstantPooling, Gated, Linear
from .settings import PoolingForm

Floats = npt.NDArray[np.float32]


class LinearProjection(nn.Module):
    """One matrix without bias, as in ColBERT."""

    def __init__(self, weight: Tensor) -> None:
        """Begin with weight (d, hidden)."""
        super().__init__()
        self.weight = nn.Parameter(weight.clone())

    def forward(self, states: Tensor) -> Tensor:
        """(…, hidden) -> (…, d)."""
        return functional.linear(states, self.weight)

    def to_layer(self) -> Linear:
        """The same as arrays."""
        return Linear(to_array(self.weight))


class GatedProjection(nn.Module):
    """(SiLU(x·Gᵀ) ⊙ x·Uᵀ)·Dᵀ, the gated feed-forward layer of arXiv 2510.12327, without bias."""

    def __init__(self, hidden: int, dimensions: int, inner: int) -> None:
        """Random matrices of the current seed, scaled so that the outputs of unit inputs have about unit size."""
        super().__init__()
        self.gate = nn.Parameter(torch.randn(inner, hidden) / hidden**0.5)
        self.up = nn.Parameter(torch.randn(inner, hidden) / hidden**0.5)
        self.down = nn.Parameter(torch.randn(dimensions, inner) / inner**0.5)

    def forward(self, states: Tensor) -> Tensor:
        """(…, hidden) -> (…, d)."""
        gated = functional.silu(functional.linear(states, self.gate)) * functional.linear(states, self.up)
        return functional.linear(gated, self.down)

    def to_layer(self) -> Gated:
        """The same as arrays."""
        return Gated(to_array(self.gate), to_array(self.up), to_array(self.down), "silu")


class Pooling(nn.Module):
    """ConstBERT: M states of a document become C.

    positions: (C, M), the same for every dimension, before the projection, as in the released model;
    full: (C·k, M·k), after the projection to k dimensions, as in the paper.
    """

    def __init__(self, form: PoolingForm, count: int, positions: int, dimensions: int) -> None:
        """Begin with means of neighbouring positions, slightly disturbed, so that no two vectors learn the same."""
        super().__init__()
        self.form, self.count, self.positions = form, count, positions
        owner = torch.arange(positions) * count // positions
        mean = functional.one_hot(owner, count).float().T.contiguous()
        mean = mean / mean.sum(dim=1, keepdim=True).clamp(min=1)
        if form == "full":
            mean = torch.kron(mean, torch.eye(dimensions))
        self.weight = nn.Parameter(mean + 0.1 * mean.std() * torch.randn_like(mean))

    def forward(self, values: Tensor) -> Tensor:
        """(texts, M, width) -> (texts, C, width)."""
        if self.form == "positions":
            return torch.einsum("cm,tmw->tcw", self.weight, values)
        flat = functional.linear(values.reshape(len(values), -1), self.weight)
        return flat.reshape(len(values), self.count, -1)

    def to_pooling(self) -> ConstantPooling:
        """The same as arrays."""
        return ConstantPooling(to_array(self.weight), None, self.positions)


def to_array(tensor: Tensor) -> Floats:
    """A copy as float32."""
    return np.array(tensor.detach().float().cpu().numpy(), np.float32, order="C")


def draw_orthogonal(rows: int, columns: int) -> Tensor:
    """(rows, columns) with orthonormal rows or columns: cosines survive the projection as well as possible."""
    return nn.init.orthogonal_(torch.empty(rows, columns))
