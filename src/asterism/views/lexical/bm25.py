"""BM25 as a product of two weights: one of a term in a document, and one of a term in a query.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009; the idf is Lucene's, which is
never negative. Of k1 from 0.9 to 1.6 and b from 0.4 to 0.75, these gave the best means over six English collections and
over XQuAD's twelve languages.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import VectorsError

K1 = 0.9
B = 0.75


def saturate(counts: npt.NDArray[Any], lengths: npt.NDArray[np.int64], mean_length: float) -> npt.NDArray[np.float32]:
    """Counts (n,) of terms, lengths (n,) of the documents they are in -> weights (n,)."""
    if not mean_length > 0:
        raise VectorsError(f"mean_length is {mean_length}, expected a number above 0")
    tf = counts.astype(np.float64)
    share = 1 - B + B * (lengths / mean_length)
    weights: npt.NDArray[np.float32] = (tf * (K1 + 1) / (tf + K1 * share)).astype(np.float32)
    return weights


def idf(frequencies: npt.NDArray[np.int64], documents: int) -> npt.NDArray[np.float32]:
    """Document frequencies (n,) of terms -> query weights (n,)."""
    weights: npt.NDArray[np.float32] = np.log1p((documents - frequencies + 0.5) / (frequencies + 0.5)).astype(
        np.float32
    )
    return weights
