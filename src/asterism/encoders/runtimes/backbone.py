"""The one thing that differs between runtimes: token ids in, outputs of the model out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Output = Literal["states", "pooled", "lexical", "vectors"]


class Backbone(Protocol):
    """ids (rows, tokens) int64, lengths (rows,) int32, pool (rows, tokens) float32 -> the wanted outputs.

    states (rows, tokens, hidden); pooled (rows, hidden): the states' sum weighted by `pool`; lexical (rows, tokens);
    vectors (rows, tokens, d).
    """

    def run(
        self,
        wanted: Sequence[Output],
        ids: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.int32],
        pool: Floats,
    ) -> dict[str, Floats]:
        """One forward pass."""
