"""How far vectors are stretched along the direction that they share.

The vectors of many models have a mean m far from the origin, and so do their queries. A constant does not change a
ranking, so vectors are coded without it: q·v = q·(v - m) + q·m. But a code's error is the same in all directions, while
queries are long in the direction of m, so the error along m dominates. Therefore vectors are stretched along m by s
before they are coded, and queries are shrunk along m by as much: inner products stay the same, their error shrinks.

A similarity's error has a variance in proportion to |q'|² · |v'|², the energies of a balanced query and of a balanced
vector. With v and V the variance of vectors along m and across it, and queries distributed like vectors, that is
(V + (|m|² + v) / s²) · (V + v · s²), smallest at s⁴ = (|m|² + v) / v. Without a mean, s = 1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...kernels.reference import SharedDirection

LARGEST_STRETCH = 64.0  # more than any sample gives


def measure_shared_direction(rows: npt.NDArray[np.float32]) -> SharedDirection:
    """Sampled vectors (n, d), n > 0 -> their mean and the stretch that minimises the error of similarities.

    One more vector with its energy spread evenly over all dimensions is assumed, so that s is at most about (n · d)^¼.
    """
    wide = rows.astype(np.float64)
    shared = SharedDirection.from_mean(wide.mean(axis=0).astype(np.float32), 1.0)
    energy = float(np.square(shared.mean, dtype=np.float64).sum())
    if energy == 0:
        return shared
    along = np.einsum("ij,j->i", wide - shared.mean, shared.axis)  # not by BLAS, whose threads may change the sum
    assumed = float(np.square(wide).sum()) / wide.size
    variance = (float(np.square(along).sum()) + assumed) / (len(wide) + 1)
    return SharedDirection(shared.mean, shared.axis, float(((energy + variance) / variance) ** 0.25))
