"""Every kernel in NumPy, which the compiled ones are tested against; native/kernels/kernels.hpp documents them.

All float operations are in float32 and in a fixed order, so that results can be compared for equality.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]

UNIT = 16
CENTROID_ZERO = np.float32(31.5)
QUERY_BYTE = np.float32(127)
VECTOR_BYTE = np.float32(63)


def rotate(rows: Floats, signs: Floats) -> Floats:
    """(n, d) -> (n, d): rounds of signs and a Walsh–Hadamard transform of the largest power of two that fits."""
    x = rows.astype(np.float32)
    d = rows.shape[1]
    block = 1 << (d.bit_length() - 1)
    for turn, sign in enumerate(signs):
        x = x * sign
        part = slice(0, block) if turn % 2 == 0 else slice(d - block, d)
        x[:, part] = _hadamard(x[:, part])
    return x


def unrotate(rows: Floats, signs: Floats) -> Floats:
    """(n, d) -> (n, d): undoes `rotate`, up to rounding."""
    x = rows.astype(np.float32)
    d = rows.shape[1]
    block = 1 << (d.bit_length() - 1)
    for turn in reversed(range(len(signs))):
        part = slice(0, block) if turn % 2 == 0 else slice(d - block, d)
        x[:, part] = _hadamard(x[:, part])
        x = x * signs[turn]
    return x


def _hadamard(x: Floats) -> Floats:
    n = x.shape[1]
    half = 1
    while half < n:
        pairs = x.reshape(len(x), n // (2 * half), 2, half)
        x = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2).reshape(len(x), n)
        half *= 2
    scaled: Floats = x * (np.float32(1) / np.sqrt(np.float32(n)))
    return scaled


@dataclass(frozen=True)
class SharedDirection:
    """The direction that all vectors share: mean (d,), axis (d,) its unit vector, or zeros if there is no mean.

    Vectors are stored without the mean, their component along the axis times `stretch`; queries have theirs divided by
    it, so that query · vector = balanced query · balanced vector + query · mean.
    """

    mean: Floats
    axis: Floats
    stretch: float

    @classmethod
    def from_mean(cls, mean: Floats, stretch: float) -> SharedDirection:
        """Mean (d,) -> with its axis."""
        wide = mean.astype(np.float64)
        length = float(np.sqrt(np.square(wide).sum()))
        return cls(mean, (wide / (length or 1.0)).astype(np.float32), stretch)

    @classmethod
    def none(cls, dimensions: int) -> SharedDirection:
        """No mean: vectors and queries stay as they are."""
        return cls.from_mean(np.zeros(dimensions, np.float32), 1.0)


def balance_vectors(rows: Floats, shared: SharedDirection) -> Floats:
    """(n, d) -> (n, d): without the mean, stretched along the axis."""
    return _stretch_along(rows - shared.mean, shared.axis, np.float32(shared.stretch) - np.float32(1))


def restore_vectors(rows: Floats, shared: SharedDirection) -> Floats:
    """(n, d) -> (n, d): undoes `balance_vectors`, up to rounding."""
    shrunk = _stretch_along(rows, shared.axis, np.float32(1) / np.float32(shared.stretch) - np.float32(1))
    return shrunk + shared.mean


def balance_queries(queries: Floats, shared: SharedDirection) -> tuple[Floats, Floats]:
    """(q, d) -> (q, d) shrunk along the axis, and the inner products with the mean (q,)."""
    factor = np.float32(1) / np.float32(shared.stretch) - np.float32(1)
    return _stretch_along(queries, shared.axis, factor), _sum_lanes(queries * shared.mean)


def _stretch_along(rows: Floats, axis: Floats, factor: np.float32) -> Floats:
    """Adds `factor` times the component along the axis."""
    stretched: Floats = rows + (factor * _sum_lanes(rows * axis))[:, None] * axis
    return stretched


@dataclass(frozen=True)
class SignedBytes:
    """Query tokens (or vectors) as bytes: value = scale · byte. rows (q, width) int8, scale (q,), sums (q,) int32."""

    rows: npt.NDArray[np.int8]
    scale: Floats
    sums: npt.NDArray[np.int32]


def to_signed_bytes(rows: Floats, width: int, most: np.float32 = QUERY_BYTE) -> SignedBytes:
    """(q, d) -> bytes of at most `most`, padded to (q, width)."""
    largest = np.abs(rows).max(axis=1).astype(np.float32)
    largest[largest < np.float32(1e-30)] = 0
    factor = np.divide(most, largest, out=np.zeros_like(largest), where=largest > 0)
    padded = np.zeros((len(rows), width), np.int8)
    padded[:, : rows.shape[1]] = np.rint(rows * factor[:, None]).astype(np.int8)
    return SignedBytes(padded, largest / most, padded.sum(axis=1, dtype=np.int32))


def _multiply(levels: Bytes, query: SignedBytes) -> Floats:
    """levels (n, width) -> (n, q) integer inner products, as float32."""
    return (levels.astype(np.int64) @ query.rows.astype(np.int64).T).astype(np.float32)


def centroid_scores(rows: Bytes, scales: Floats, query: SignedBytes) -> Floats:
    """levels (n, width), scales (n,) -> (n, q)."""
    offset = CENTROID_ZERO * query.sums.astype(np.float32)
    return (scales[:, None] * query.scale[None, :]) * (_multiply(rows, query) - offset[None, :])


def closeness(rows: Bytes, scales: Floats, half_norms: Floats, vectors: SignedBytes) -> Floats:
    """(K, n) x·c - |c|²/2, largest for the nearest centroid: centroids (K, width), vectors (n, width)."""
    return centroid_scores(rows, scales, vectors) - half_norms[:, None]


def make_shortlists(close: Floats, vectors: SignedBytes, most_groups: int, reach: float) -> npt.NDArray[np.bool_]:
    """close (G, n) of groups and vectors -> (G, n): the nearest group of each, and those within its reach.

    At most `most_groups`, ties by number; |x - g|² is |x|² - 2 closeness.
    """
    energy = vectors.scale * vectors.scale * np.square(vectors.rows.astype(np.int32)).sum(axis=1).astype(np.float32)
    closest = close.max(axis=0)
    slack = np.float32(0.5) * (np.float32(reach) - np.float32(1)) * np.maximum(energy - np.float32(2) * closest, 0)
    least = np.minimum(closest - slack, np.nextafter(closest, np.float32(-np.inf)))
    places = np.argsort(np.argsort(-close, axis=0, kind="stable"), axis=0)
    chosen: npt.NDArray[np.bool_] = (close > least) & (places < most_groups)
    return chosen


@dataclass(frozen=True)
class CodeFormat:
    """level_bytes (16,) level of each code; decoded residual = token scale · step · (level - zero)."""

    bits: int
    level_bytes: Bytes
    step: float
    zero: float
    scales_whole_vector: bool


def pack(codes: npt.NDArray[np.integer], bits: int) -> Bytes:
    """codes (n, width) -> (n, width · bits / 8): 16-byte units, byte j holding dimensions j, 16 + j, 32 + j …"""
    parts = codes.reshape(len(codes), -1, 8 // bits, UNIT).astype(np.uint8)
    shifts = (np.arange(8 // bits) * bits).astype(np.uint8)
    packed: Bytes = np.bitwise_or.reduce(parts << shifts[:, None], axis=2)
    return packed.reshape(len(codes), -1)


def unpack(packed: Bytes, bits: int) -> Bytes:
    """(n, bytes) -> codes (n, width)."""
    units = packed.reshape(len(packed), packed.shape[1] // UNIT, 1, UNIT)
    shifts = (np.arange(8 // bits) * bits).astype(np.uint8)
    return ((units >> shifts[:, None]) & np.uint8(2**bits - 1)).reshape(len(packed), packed.shape[1] * 8 // bits)


def _sum_lanes(products: Floats) -> Floats:
    """(…, n) -> (…): eight running sums and a fixed tree, the order of eight vector lanes."""
    missing = -products.shape[-1] % 8
    padded = np.concatenate([products, np.zeros((*products.shape[:-1], missing), np.float32)], axis=-1)
    lanes = np.zeros((*padded.shape[:-1], 8), np.float32)
    for start in range(0, padded.shape[-1], 8):
        lanes = lanes + padded[..., start : start + 8]
    low = (lanes[..., 0] + lanes[..., 4]) + (lanes[..., 2] + lanes[..., 6])
    high = (lanes[..., 1] + lanes[..., 5]) + (lanes[..., 3] + lanes[..., 7])
    total: Floats = low + high
    return total


def encode_residuals(
    rows: Floats, centroids: Floats, cutoffs: Floats, format: CodeFormat, width: int
) -> tuple[Bytes, Floats]:
    """Rotated rows (n, d) and the centroid of each (n, d) -> packed codes and token scales (n,)."""
    d = rows.shape[1]
    residual = np.zeros((len(rows), width), np.float32)
    residual[:, :d] = rows - centroids
    energy = _sum_lanes(residual * residual)
    factor = np.ones(len(rows), np.float32)
    if not format.scales_whole_vector:
        with np.errstate(divide="ignore", over="ignore"):
            ratio = np.float32(d) / energy
        factor = np.sqrt(np.where(np.isfinite(ratio), ratio, np.float32(0)))
    fineness = np.float32(16384) / max(np.abs(cutoffs).max(), np.float32(1e-6))  # compared as 16-bit integers
    fine = np.rint(np.clip(residual * (factor * fineness)[:, None], -32767, 32767))
    levels = (fine[:, :, None] > np.rint(cutoffs * fineness)).sum(axis=2)
    decoded = format.level_bytes[levels].astype(np.float32) - np.float32(format.zero)
    packed = pack(levels, format.bits)
    if format.scales_whole_vector:
        whole = np.zeros_like(residual)
        whole[:, :d] = centroids + np.float32(format.step) * decoded[:, :d]
        length = np.sqrt(_sum_lanes(whole * whole))
        return packed, np.divide(np.float32(1), length, out=np.zeros_like(length), where=length > 0)
    projection = _sum_lanes(residual * decoded) * np.float32(format.step)
    return packed, np.divide(energy, projection, out=np.zeros_like(energy), where=projection > 0)


def compare_codes(
    packed: Bytes, scales: npt.NDArray[np.float16], centroid_rows: Floats, format: CodeFormat, query: SignedBytes
) -> Floats:
    """Codes (n, bytes), scales (n,), the tokens' rows of the centroid table (n, q) -> similarities (n, q)."""
    scale = scales.astype(np.float32)[:, None]
    levels = format.level_bytes[unpack(packed, format.bits)]
    offset = np.float32(format.zero) * query.sums.astype(np.float32)
    centred = _multiply(levels, query) - offset[None, :]
    residual = ((scale * np.float32(format.step)) * query.scale[None, :]) * centred
    similarities: Floats = residual + (scale * centroid_rows if format.scales_whole_vector else centroid_rows)
    return similarities


def compare_floats(tokens: npt.NDArray[np.floating], query: Floats) -> Floats:
    """tokens (n, d) float16 or float32, query (q, d) -> (n, q)."""
    return _sum_lanes(tokens.astype(np.float32)[:, None, :] * query[None, :, :])


def penalise_length(query_tokens: int, vectors: int, length_penalty: float) -> np.float32:
    """What the score of a document with so many vectors is reduced by: a sum over query tokens, as the score is.

    Taken from the mean similarity of a query token: length_penalty · log(1 + vectors).
    """
    return np.float32(query_tokens * length_penalty * math.log1p(vectors))


def to_bytes(scores: Floats, low: Floats, factor: np.float32) -> Bytes:
    """scores (n, q) -> bytes: zero at `low` (q,), 255 at the top."""
    clipped: Floats = np.clip((scores - low[None, :]) * factor, np.float32(0), np.float32(255))
    return np.rint(clipped).astype(np.uint8)


def interaction(table: Bytes, ids: npt.NDArray[np.integer]) -> int:
    """Byte table (K, q), ids (n,) -> the sum over query tokens of the maximum over ids."""
    return int(table[ids].max(axis=0, initial=0).sum(dtype=np.int64))
