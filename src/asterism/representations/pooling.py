"""Fewer vectors for long documents: similar vectors are replaced by their mean."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .token_vectors import FloatArray, TokenVectors

ROUNDS = 4
ROWS = 8192  # compared with all centres at once, so that memory stays small for a document of any length

Floats = npt.NDArray[np.float32]


def pool_vectors(vectors: TokenVectors, most: int) -> TokenVectors:
    """At most `most` vectors per document; shorter documents, and all if `most` is 0, stay unchanged. Deterministic.

    Spherical k-means within a document: the first centres are evenly spaced tokens, the last ones means of unit length.
    """
    lengths = np.diff(vectors.offsets)
    if not most or (lengths <= most).all():
        return vectors
    documents = [vectors[i] if lengths[i] <= most else _compute_means(vectors[i], most) for i in range(len(vectors))]
    return TokenVectors(np.concatenate(documents), np.cumsum([0] + [len(document) for document in documents]))


def _compute_means(tokens: FloatArray, count: int) -> Floats:
    """(n, d) -> (count, d); a centre without vectors stays where it is."""
    rows = np.asarray(tokens, np.float32)
    centres = rows[np.linspace(0, len(rows) - 1, count).round().astype(np.int64)]
    for _ in range(ROUNDS):
        sums = np.zeros_like(centres)
        for start in range(0, len(rows), ROWS):
            part = rows[start : start + ROWS]
            np.add.at(sums, (part @ centres.T).argmax(axis=1), part)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 0, sums / np.maximum(lengths, 1e-12), centres)
    return np.asarray(centres, np.float32)
