"""The weighted terms of each text: a sparse matrix in rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import VectorsError


class LexicalWeights:
    """offsets (texts + 1,) int64, terms (n,) int64 ascending within a text, weights (n,) float32: text i has n_i terms.

    A term is any number ≥ 0: a token id of a vocabulary, or the hash of a word.
    """

    __slots__ = ("offsets", "terms", "weights")

    def __init__(self, offsets: npt.ArrayLike, terms: npt.ArrayLike, weights: npt.ArrayLike) -> None:
        """Check shapes and order."""
        self.offsets: npt.NDArray[np.int64] = np.asarray(offsets, np.int64)
        self.terms: npt.NDArray[np.int64] = np.asarray(terms, np.int64)
        self.weights: npt.NDArray[np.float32] = np.asarray(weights, np.float32)
        if self.terms.ndim != 1 or self.terms.shape != self.weights.shape:
            raise VectorsError(f"terms {self.terms.shape} and weights {self.weights.shape}, expected (n,) each")
        if self.offsets.ndim != 1 or not len(self.offsets) or self.offsets[0] or self.offsets[-1] != len(self.terms):
            raise VectorsError(
                f"offsets {self.offsets.shape} do not go from 0 to the number of terms, {len(self.terms)}"
            )
        steps = np.diff(self.offsets)
        if (steps < 0).any():
            raise VectorsError("offsets decrease, expected each at least the one before")
        starts = np.zeros(len(self.terms), bool)
        starts[self.offsets[:-1][steps > 0]] = True
        if not (starts[1:] | (np.diff(self.terms) > 0)).all():
            raise VectorsError("the terms of a text are not in ascending order, expected each above the one before")
        if (self.terms < 0).any():
            raise VectorsError(f"terms has {self.terms.min()}, expected no negative number")
        if not np.isfinite(self.weights).all():
            raise VectorsError("weights have NaN or infinity, expected none")

    def __repr__(self) -> str:
        """The shape; not the numbers."""
        return f"<LexicalWeights {len(self):,} texts, {len(self.terms):,} terms>"

    def __len__(self) -> int:
        """The number of texts."""
        return len(self.offsets) - 1

    def __getitem__(self, text: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """Terms and weights of one text."""
        if not 0 <= text < len(self):
            raise IndexError(f"text {text} of {len(self)}")
        part = slice(self.offsets[text], self.offsets[text + 1])
        return self.terms[part], self.weights[part]

    @classmethod
    def from_largest(
        cls, texts: int, text: npt.NDArray[np.int64], term: npt.NDArray[np.int64], weight: npt.NDArray[np.float32]
    ) -> LexicalWeights:
        """text (n,), term (n,), weight (n,) of single entries; a term that a text has twice gets the larger weight."""
        order = np.lexsort((-weight, term, text))
        text, term, weight = text[order], term[order], weight[order]
        first = np.ones(len(text), bool)
        first[1:] = (np.diff(text) != 0) | (np.diff(term) != 0)
        counts = np.bincount(text[first], minlength=texts)
        return cls(np.concatenate([[0], np.cumsum(counts)]), term[first], weight[first])
