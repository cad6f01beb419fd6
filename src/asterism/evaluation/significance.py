"""Is a difference more than chance? A paired randomisation test, and Holm's correction for several of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError

MOST_ENUMERATED = 13
"""Differences whose signs are enumerated: 2^13 is about as many as the default rounds."""
CHUNK_VALUES = 1 << 20
ROUNDING = 1e-10
"""Sums this close, relative to the sum of absolute differences, count as equal: sums of measures often are, except for
rounding."""


def paired_randomisation(a: npt.ArrayLike, b: npt.ArrayLike, rounds: int = 10_000, seed: int = 7) -> float:
    """(queries,), (queries,) -> two-sided p-value of the difference of the means.

    Fisher's randomisation test (Smucker, Allan & Carterette 2007): if the two systems were one, each query's
    difference could as well have had the other sign. p is the share of random signs whose mean difference is at least
    as large as the one seen, which counts itself as one more round: (hits + 1) / (rounds + 1), never 0. With at most
    13 differences that are not 0, all signs are tried and p is exact.
    """
    if not isinstance(rounds, int) or rounds < 1:
        raise InputError(f"rounds is {rounds!r}, expected a whole number of at least 1")
    differences = _subtract(a, b)
    sizes = np.abs(differences[differences != 0])
    seen = abs(float(differences.sum())) - ROUNDING * float(sizes.sum())
    if len(sizes) <= MOST_ENUMERATED:
        signs: npt.NDArray[Any] = np.arange(2 ** len(sizes))[:, None] >> np.arange(len(sizes)) & 1
        return float(np.mean(_sum_signed(signs, sizes) >= seen))
    generator = np.random.default_rng(seed)
    chunk = max(1, CHUNK_VALUES // len(sizes))
    hits = 0
    for start in range(0, rounds, chunk):
        signs = generator.random((min(chunk, rounds - start), len(sizes))) < 0.5
        hits += int(np.count_nonzero(_sum_signed(signs, sizes) >= seen))
    return (hits + 1) / (rounds + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values of one family of tests -> Holm's (1979) step-down corrected ones, in the same order."""
    values = np.asarray(p_values, np.float64)
    if values.ndim != 1 or not np.all((values >= 0) & (values <= 1)):
        raise InputError(f"p-values are {p_values!r}, expected a list of numbers from 0 to 1")
    order = np.argsort(values, kind="stable")
    steps = values[order] * np.arange(len(values), 0, -1)
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(1, np.maximum.accumulate(steps))
    return [float(value) for value in corrected]


def _subtract(a: npt.ArrayLike, b: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """a - b (queries,), checked."""
    first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if first.ndim != 1 or first.shape != second.shape or not len(first):
        raise InputError(
            f"the values have shapes {first.shape} and {second.shape}, expected (queries,) twice: "
            "one value of each system for every query"
        )
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise InputError("a value is NaN or infinite, expected a number for every query: count failures as 0")
    return first - second


def _sum_signed(signs: npt.NDArray[Any], sizes: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """(rounds, n) of 0 and 1, (n,) -> (rounds,): absolute sums of `sizes` where 1 means plus and 0 minus."""
    sums: npt.NDArray[np.float64] = np.abs(2 * (signs.astype(np.float64) @ sizes) - sizes.sum())
    return sums
