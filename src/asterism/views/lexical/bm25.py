"""BM25 as a product of two weights: one of a term in a document, and one of a term in a query.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009; the idf is Lucene's, which is
never negative. k1 and b are settings: see TermCounting.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...settings import TermCounting, check_number

LONGEST_MEAN = 2.0**62  # far above any, so that arithmetic stays finite
ROUNDING = 2.0**-20  # a weight has six roundings of 2^-24, and two weights are compared


@dataclass(frozen=True)
class Bm25:
    """How a count becomes a weight: k1, b, and the mean length of all documents."""

    k1: float
    b: float
    mean_length: float

    def __post_init__(self) -> None:
        """Check every value."""
        counting = TermCounting(k1=self.k1, b=self.b)
        object.__setattr__(self, "k1", counting.k1)
        object.__setattr__(self, "b", counting.b)
        object.__setattr__(self, "mean_length", check_number("mean_length", self.mean_length, 1, LONGEST_MEAN))

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Bm25:
        """From a segment's facts."""
        return cls(**stored)

    @classmethod
    def from_totals(cls, counting: TermCounting | Bm25, length: int, documents: int) -> Bm25:
        """The weights in a collection of `documents` with `length` terms in total; the mean is at least 1."""
        return cls(counting.k1, counting.b, max(1.0, length / max(1, documents)))

    @cached_property
    def factors(self) -> tuple[np.float32, np.float32, np.float32]:
        """gain, base and slope: a weight is tf · gain / (tf + (base + slope · length))."""
        return (
            np.float32(self.k1 + 1),
            np.float32(self.k1 * (1 - self.b)),
            np.float32(self.k1 * self.b / self.mean_length),
        )

    def weigh(self, counts: npt.NDArray[Any], lengths: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Counts (n,) of terms, lengths (n,) of the documents they are in -> weights (n,).

        tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / mean length)), in float32, with the same operations in the same
        order as native/lexical/engine.hpp.
        """
        gain, base, slope = self.factors
        tf, below = counts.astype(np.float32), lengths.astype(np.float32)
        below *= slope
        below += base
        below += tf
        tf *= gain
        tf /= below
        return tf

    def compare_with(self, written: Bm25, longest: int) -> tuple[float, float]:
        """Lowest and highest: every weight is between them, times the weight that it had as `written`.

        The weight with the mean m divided by the one with the mean m0 is (tf + n(m0)) / (tf + n(m)), with
        n(m) = k1 · (1 - b + b · length / m). For a length of 0 this is 1. Its derivative by the length has the sign of
        1 / m0 - 1 / m: it grows from 1 if m > m0 and falls from 1 if m < m0. A larger tf brings it nearer to 1. So its
        extremes are 1 and the value for tf = 1 and the longest document; that is never above m / m0, the limit for
        endless documents.
        """
        if written.mean_length == self.mean_length:
            return 1.0, 1.0
        extreme = (1 + written._weaken(longest)) / (1 + self._weaken(longest))
        return min(1.0, extreme) * (1 - ROUNDING), max(1.0, extreme) * (1 + ROUNDING)

    def _weaken(self, length: int) -> float:
        """What is added to tf below the line."""
        return self.k1 * (1 - self.b + self.b * length / self.mean_length)


def idf(frequencies: npt.NDArray[np.int64], documents: int) -> npt.NDArray[np.float32]:
    """Document frequencies (n,) of terms -> query weights (n,)."""
    weights: npt.NDArray[np.float32] = np.log1p((documents - frequencies + 0.5) / (frequencies + 0.5)).astype(
        np.float32
    )
    return weights
