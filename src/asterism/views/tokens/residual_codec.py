"""How a token vector is stored: a centroid and a code of the residual, a few bits per dimension.

Two kinds of levels:
  gaussian   vectors are balanced (see shared_direction.py) and rotated at random, so that a residual's coordinates are
             nearly normal; Lloyd–Max levels of the normal distribution; a scale per vector that makes the decoded
             residual's projection on the true one unbiased (RaBitQ, Gao & Long 2024).
  quantile   ColBERTv2: neither balance nor rotation; cutoffs and levels are quantiles of all residual coordinates
             pooled; the decoded vector is normalised. (Levels are rounded to a grid of 64 steps, as all are here.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import VectorsError
from ...kernels import _native, choose_kernels, reference
from ...kernels.reference import SharedDirection
from ...representations.token_vectors import FloatArray
from ...settings import Bits
from .clustering import CENTROID_ZERO, Centroids, assign, decode_levels, group_centroids
from .signed_rows import SignedRows

Floats = npt.NDArray[np.float32]

ROUNDS_POWER_OF_TWO = 2
ROUNDS_OTHER = 4
LARGEST_SCALE = float(np.finfo(np.float16).max)  # scales are stored as float16
SMALLEST_SCALE = float(np.finfo(np.float16).smallest_subnormal)
UNIT_BYTES = 16  # native/kernels/kernels.hpp: kUnit


def compute_padded_width(dimensions: int, bits: int) -> int:
    """Bytes of an unpacked row: the dimensions, rounded up to whole code units and to a multiple of 32."""
    step = UNIT_BYTES * 8 // bits if bits < 16 else 32
    return -(-dimensions // max(step, 32)) * max(step, 32)


def draw_rotation_signs(dimensions: int, rng: np.random.Generator) -> Floats:
    """(rounds, d) of ±1: the random part of the rotation."""
    power_of_two = dimensions & (dimensions - 1) == 0
    rounds = ROUNDS_POWER_OF_TWO if power_of_two else ROUNDS_OTHER
    return rng.choice(np.array([-1.0, 1.0], np.float32), size=(rounds, dimensions))


def lloyd_max(bits: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """(2^b,) levels and (2^b - 1,) cutoffs of the normal distribution (Lloyd 1957, Max 1960)."""
    count = 2**bits
    levels = np.linspace(-2, 2, count) if bits > 1 else np.array([-0.8, 0.8])
    for _ in range(2000):
        cutoffs = (levels[1:] + levels[:-1]) / 2
        edges = np.concatenate([[-np.inf], cutoffs, [np.inf]])
        density = np.exp(-(edges**2) / 2) / math.sqrt(2 * math.pi)
        mass = np.array([0.5 * (1 + math.erf(edge / math.sqrt(2))) for edge in edges])
        levels = (density[:-1] - density[1:]) / np.diff(mass)
    return levels, (levels[1:] + levels[:-1]) / 2


@dataclass(frozen=True)
class ResidualCodec:
    """Everything that is needed to store and compare vectors: shared direction, rotation, centroids, levels.

    signs (rounds, d) · level_bytes (16,) level of each code · cutoffs (2^b - 1,) ·
    decoded residual = token scale · step · (level - zero).
    """

    bits: int
    centroids: Centroids
    signs: Floats
    level_bytes: npt.NDArray[np.uint8]
    cutoffs: Floats
    step: float
    zero: float
    scales_whole_vector: bool
    shared: SharedDirection

    @cached_property
    def dimensions(self) -> int:
        """Dimensions of a vector."""
        return self.centroids.dimensions

    @property
    def row_bytes(self) -> int:
        """Bytes of one packed code."""
        return int(self.centroids.rows.shape[1]) * self.bits // 8

    @cached_property
    def is_flat(self) -> bool:
        """Whether vectors are stored as floats with a single centroid: nothing was trained."""
        return self.bits >= 16 and len(self.centroids) == 1

    @property
    def code_format(self) -> reference.CodeFormat:
        """The format of the codes, for the reference kernels."""
        return reference.CodeFormat(self.bits, self.level_bytes, self.step, self.zero, self.scales_whole_vector)

    def to_native(self) -> _native.Codec:
        """The codec for the native code."""
        return _native.Codec(
            centroids=self.centroids.to_native(),
            shared=_to_native(self.shared),
            signs=self.signs,
            levels=self.level_bytes,
            cutoffs=self.cutoffs,
            dimensions=self.dimensions,
            bits=self.bits,
            step=self.step,
            zero=self.zero,
            scales_whole_vector=self.scales_whole_vector,
        )

    def transform(self, rows: FloatArray, threads: int) -> Floats:
        """Vectors (n, d) -> (n, d) a balanced and rotated float32 copy."""
        return transform(rows, self.shared, self.signs, threads)

    def find_nearest(self, rows: Floats, threads: int) -> npt.NDArray[np.uint32]:
        """Transformed rows (n, d) -> (n,) their centroids."""
        return assign(self.centroids, SignedRows.from_floats(rows, self.centroids.rows.shape[1], threads), threads)

    def encode(
        self, rows: Floats, nearest: npt.NDArray[np.uint32], threads: int
    ) -> tuple[npt.NDArray[np.uint8], Floats]:
        """Transformed rows (n, d) and their centroids (n,) -> codes (n, row_bytes), scales (n,).

        Refuses a vector whose scale does not fit float16.
        """
        codes = np.empty((len(rows), self.row_bytes), np.uint8)
        scales = np.empty(len(rows), np.float32)
        _native.encode(self.to_native(), rows, nearest, codes, scales, threads, choose_kernels())
        unfit = np.flatnonzero(scales > LARGEST_SCALE)
        if self.scales_whole_vector:  # elsewhere 0 means a negligible residual
            unfit = np.flatnonzero((scales > LARGEST_SCALE) | (scales < SMALLEST_SCALE) & (scales > 0))
        if unfit.size:
            length = float(np.linalg.norm(self._restore(rows[unfit[:1]])))
            given = f"a vector has length {length:.3g}"
            raise VectorsError(f"{given}, too different from the lengths of those that trained the index")
        return codes, scales

    def decode(
        self, codes: npt.NDArray[np.uint8], scales: npt.NDArray[np.float16], centroids: npt.NDArray[np.uint32]
    ) -> Floats:
        """Codes (n, row_bytes), scales (n,), centroids (n,) -> (n, d) the decoded vectors, transformed back."""
        levels = self.level_bytes[reference.unpack(codes, self.bits)[:, : self.dimensions]].astype(np.float32)
        scale = scales.astype(np.float32)[:, None]
        means = decode_levels(self.centroids.rows[centroids], self.centroids.scales[centroids], self.dimensions)
        residuals = scale * np.float32(self.step) * (levels - np.float32(self.zero))
        return self._restore(residuals + (scale * means if self.scales_whole_vector else means))

    def _restore(self, rows: Floats) -> Floats:
        """Undo `transform`, up to rounding."""
        return reference.restore_vectors(reference.unrotate(rows, self.signs), self.shared)

    def measure_left_over(self, rows: FloatArray, threads: int) -> float:
        """Vectors (n, d) -> the energy that mean and centroids leave of them, as a share of theirs; measures drift.

        What is left is measured as it is coded, stretched.
        """
        transformed = self.transform(rows, threads)
        nearest = self.find_nearest(transformed, threads)
        means = decode_levels(self.centroids.rows[nearest], self.centroids.scales[nearest], self.dimensions)
        energy = float(np.square(rows, dtype=np.float64).sum())
        return float(np.square(transformed - means, dtype=np.float64).sum()) / energy if energy else 0.0


def make_flat_codec(dimensions: int, bits: Bits) -> ResidualCodec:
    """A codec for floats (bits 16 or 32) without clusters: one centroid, at the origin."""
    origin = np.zeros((1, dimensions), np.float32)
    centroids = group_centroids(origin, np.array([0, 1], np.uint32), compute_padded_width(dimensions, bits))
    none = np.zeros((0, dimensions), np.float32)
    shared = SharedDirection.none(dimensions)
    levels, cutoffs = np.zeros(16, np.uint8), none[:, 0].copy()
    return ResidualCodec(bits, centroids, none, levels, cutoffs, 1.0, CENTROID_ZERO, False, shared)


def _to_native(shared: SharedDirection) -> _native.SharedDirection:
    return _native.SharedDirection(mean=shared.mean, axis=shared.axis, stretch=shared.stretch)


def transform(rows: FloatArray, shared: SharedDirection, signs: Floats, threads: int) -> Floats:
    """Vectors (n, d), signs (rounds, d) -> (n, d) a balanced and rotated float32 copy."""
    out = np.empty(rows.shape, np.float32)
    given: npt.NDArray[Any] = rows.view(np.uint16) if rows.dtype == np.float16 else rows
    _native.transformed(given, _to_native(shared), signs, out, threads, choose_kernels())
    return out


def make_gaussian_codec(
    centroids: Centroids, signs: Floats, sample: SignedRows, bits: int, shared: SharedDirection
) -> ResidualCodec:
    """Lloyd–Max levels on the 64-step grid; the only trained value is the unit of the token scales."""
    level_bytes = np.zeros(16, np.uint8)
    cutoffs = np.zeros(0, np.float32)
    if bits < 16:
        levels, _ = lloyd_max(bits)
        grid = levels[-1] / CENTROID_ZERO
        snapped = np.rint(levels / grid + CENTROID_ZERO)
        level_bytes[: 2**bits] = snapped
        values = (snapped - CENTROID_ZERO) * grid
        cutoffs = ((values[1:] + values[:-1]) / 2).astype(np.float32)
    # A typical coordinate of the vectors, with the mean, which keeps token scales moderate for vectors of any length.
    energy = np.square(sample.take_evenly(4096).decode(), dtype=np.float64).mean()
    unit = float(np.sqrt(energy + np.square(shared.mean, dtype=np.float64).mean())) or 1.0
    return ResidualCodec(bits, centroids, signs, level_bytes, cutoffs, unit, CENTROID_ZERO, False, shared)


def make_quantile_codec(centroids: Centroids, sample: SignedRows, bits: int, threads: int) -> ResidualCodec:
    """ColBERTv2's levels, from the residuals of up to 50,000 vectors (ColBERTv2's code holds out at most as many)."""
    some = sample.take_evenly(50_000)
    residuals = some.decode() - centroids.decode()[assign(centroids, some, threads)]
    count = 2**bits
    cutoffs = np.quantile(residuals, np.arange(1, count) / count)
    weights = np.quantile(residuals, (np.arange(count) + 0.5) / count)
    step = max(float(weights[-1] - weights[0]) / 63, 1e-12)
    level_bytes = np.zeros(16, np.uint8)
    level_bytes[:count] = np.rint((weights - weights[0]) / step)
    signs, shared = np.zeros((0, centroids.dimensions), np.float32), SharedDirection.none(centroids.dimensions)
    zero = float(-weights[0] / step)
    return ResidualCodec(bits, centroids, signs, level_bytes, cutoffs.astype(np.float32), step, zero, True, shared)
