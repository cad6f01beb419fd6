"""The highest products of a query with many vectors, from short versions of the vectors and few exact products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

WIDTH = 64  # numbers of a short vector
LEAST_VALUES = 1 << 22  # fewer numbers than this are multiplied as they are
SAMPLED = 20_000  # vectors that the directions come from
CHUNK = 8192
GROUP = 64  # values whose maximum stands for them
CONFIDENCE = 5.0  # standard deviations by which a product may differ from that of short vectors
MOST_SHARE = 0.25  # of all vectors; if more are in question, all are multiplied


@dataclass(frozen=True)
class Sketch:
    """Vectors (n, d) in the directions (d, WIDTH) in which they are longest.

    short (n, WIDTH): products with the directions · left (n,): the length of what they leave out, which is taken to
    point anywhere: its product with a query has a standard deviation of its length times the query's, by √(d - WIDTH)
    """

    directions: Floats
    short: Floats
    left: Floats

    @classmethod
    def make(cls, rows: npt.NDArray[np.floating]) -> Sketch | None:
        """None if it would not save time."""
        if rows.shape[1] <= 2 * WIDTH or rows.size < LEAST_VALUES:
            return None
        sample = np.asarray(rows[:: -(-len(rows) // SAMPLED)], np.float32)
        _, found = np.linalg.eigh((sample.T @ sample).astype(np.float64))
        directions = np.ascontiguousarray(found[:, -WIDTH:], np.float32)
        short = np.empty((len(rows), WIDTH), np.float32)
        left = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), CHUNK):
            part = np.asarray(rows[start : start + CHUNK], np.float32)
            mine = short[start : start + CHUNK]
            np.matmul(part, directions, out=mine)
            squares = np.einsum("ij,ij->i", part, part) - np.einsum("ij,ij->i", mine, mine)
            left[start : start + CHUNK] = np.sqrt(np.maximum(squares, 0))
        return cls(directions, short, left)

    def narrow(self, query: Floats, allowed: Mask, count: int) -> Places | None:
        """Query (d,) -> the places that may be among the `count` highest of the allowed; None if they are too many."""
        inside = query @ self.directions
        outside = float(np.sqrt(max(float(query @ query) - float(inside @ inside), 0.0)))
        doubt = self.left * np.float32(CONFIDENCE * outside / np.sqrt(len(query) - WIDTH))
        rough = np.where(allowed, self.short @ inside, np.float32(-np.inf))
        places = np.flatnonzero(rough + doubt >= find_threshold(rough - doubt, count))
        return places if len(places) <= MOST_SHARE * len(rough) else None


def find_threshold(values: Floats, count: int) -> float:
    """A number that at least `count` of the values (n,) reach, and not many more; -inf if they are too few.

    The maxima of groups of values are compared, which takes a tenth of the time of comparing all.
    """
    group = max(1, min(GROUP, len(values) // (8 * max(count, 1))))
    whole = len(values) - len(values) % group
    tops = np.append(values[:whole].reshape(-1, group).max(axis=1), values[whole:])
    return float(np.partition(tops, len(tops) - count)[len(tops) - count]) if 0 < count <= len(tops) else -np.inf
