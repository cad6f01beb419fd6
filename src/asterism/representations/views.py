"""What an encoder returns for some texts: the requested views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .lexical import LexicalWeights
from .token_vectors import TokenVectors


@dataclass(frozen=True)
class Representations:
    """dense (texts, d) float32, lexical weights, token vectors; None for a view that was not requested.

    `truncated` counts the texts that were too long and were cut. readable (texts,): the share of each text that the
    model can read, None if it was not measured.
    """

    texts: int
    dense: npt.NDArray[np.float32] | None = None
    lexical: LexicalWeights | None = None
    multi: TokenVectors | None = None
    truncated: int = 0
    readable: npt.NDArray[np.float64] | None = None

    def __len__(self) -> int:
        """The number of texts."""
        return self.texts

    @staticmethod
    def concatenate(parts: Sequence[Representations]) -> Representations:
        """The same views of all texts, in order; at least one part."""
        first = parts[0]
        dense = [part.dense for part in parts if part.dense is not None]
        lexical = [part.lexical for part in parts if part.lexical is not None]
        vectors = [part.multi for part in parts if part.multi is not None]
        return Representations(
            sum(part.texts for part in parts),
            None if first.dense is None else np.concatenate(dense),
            None
            if first.lexical is None
            else LexicalWeights(
                _concatenate_offsets([part.offsets for part in lexical]),
                np.concatenate([part.terms for part in lexical]),
                np.concatenate([part.weights for part in lexical]),
            ),
            None
            if first.multi is None
            else TokenVectors(
                np.concatenate([part.flat for part in vectors]),
                _concatenate_offsets([part.offsets for part in vectors]),
            ),
            sum(part.truncated for part in parts),
        )


def _concatenate_offsets(parts: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """The offsets of all parts as one."""
    return np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part) for part in parts]))])
