"""What a runtime does: token ids in, outputs of the model out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from ..batching import Batch

Floats = npt.NDArray[np.float32]
Output = Literal["states", "pooled", "lexical", "vectors"]


class Backbone(Protocol):
    """A batch of rows and pool (rows, tokens) float32 -> the wanted outputs.

    states (rows, tokens, hidden); pooled (rows, hidden): the sum of the states, weighted by `pool`;
    lexical (rows, tokens); vectors (rows, tokens, d).
    """

    def run(self, wanted: Sequence[Output], batch: Batch, pool: Floats) -> dict[str, Floats]:
        """One forward pass."""
