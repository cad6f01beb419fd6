"""Centroids for token vectors: a sample of about 256·√N vectors, k-means in two levels.

Plain k-means on K = 16·√N centroids costs a product of the sample with all of them in every round. Here a first
level of √K groups is clustered, then each group separately; in a last round every vector is assigned to one of the
children of its nearest groups. Assignment uses integers (see native/kernels/kernels.hpp), so that centroids depend
neither on the number of threads nor on the instruction set.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...kernels import _native, choose_kernels
from ..in_order import map_in_order
from .signed_rows import SignedRows

Floats = npt.NDArray[np.float32]

SAMPLE_FACTOR = 256
VECTORS_A_CENTROID = 4
COARSE_ROUNDS = 6
GROUP_ROUNDS = 4
COARSE_SAMPLE = 256  # vectors per group that train the first level
MOST_GROUPS = 12  # the nearest groups whose children a vector is compared with
REACH = 1.1  # and only groups within this multiple of the nearest group's squared distance
CENTROID_ZERO = 31.5  # native/kernels/kernels.hpp: kCentroidZero


def compute_sample_share(vectors: int) -> float:
    """The share of `vectors` that is sampled: 256·√N of N."""
    return min(1.0, SAMPLE_FACTOR / math.sqrt(max(vectors, 1)))


def choose_sample(positions: npt.NDArray[np.int64], share: float, seed: int) -> npt.NDArray[np.bool_]:
    """Which positions belong to the sample: by a hash of the position, so that chunking does not matter."""
    with np.errstate(over="ignore"):
        x = positions.astype(np.uint64) + np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(1)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x = x ^ (x >> np.uint64(31))
    chosen: npt.NDArray[np.bool_] = (x >> np.uint64(11)).astype(np.float64) < share * 2.0**53
    return chosen


def choose_centroid_count(vectors: int, sample: int) -> int:
    """2^⌊log2(16·√N)⌋ (ColBERTv2), bounded so that each has at least four sampled vectors."""
    wanted = 1 << int(math.log2(16.0 * math.sqrt(max(vectors, 1))))
    return max(1, min(wanted, sample // VECTORS_A_CENTROID))


@dataclass(frozen=True)
class Centroids:
    """K centroids as rows of levels, one byte each, in groups of neighbours.

    rows (K + 1, width) and scales (K + 1,): value = scale · (level - 31.5); the last row is the mean of all.
    half_norms (K,): |c|²/2. group_* the same for G groups; the children of group g are starts[g]:starts[g+1].
    """

    dimensions: int
    rows: npt.NDArray[np.uint8]
    scales: Floats
    half_norms: Floats
    group_rows: npt.NDArray[np.uint8]
    group_scales: Floats
    group_half_norms: Floats
    starts: npt.NDArray[np.uint32]

    def __len__(self) -> int:
        """K."""
        return len(self.half_norms)

    def decode(self) -> Floats:
        """(K, d) the float values of the centroids."""
        return decode_levels(self.rows[:-1], self.scales[:-1], self.dimensions)

    def to_native(self) -> _native.Centroids:
        """The centroids for the native code."""
        return _native.Centroids(
            rows=self.rows,
            scales=self.scales,
            half_norms=self.half_norms,
            group_rows=self.group_rows,
            group_scales=self.group_scales,
            group_half_norms=self.group_half_norms,
            starts=self.starts,
        )


def to_levels(values: npt.NDArray[np.floating], width: int) -> tuple[npt.NDArray[np.uint8], Floats]:
    """values (n, d) -> levels (n, width) 0..63 and scales (n,); the padding has level 0 and is ignored."""
    scales = (np.abs(values).max(axis=1) / CENTROID_ZERO).astype(np.float32)
    safe = np.where(scales > 0, scales, 1).astype(np.float64)
    levels = np.rint(values / safe[:, None] + CENTROID_ZERO).clip(0, 63).astype(np.uint8)
    rows = np.zeros((len(values), width), np.uint8)
    rows[:, : values.shape[1]] = levels
    return rows, scales


def decode_levels(rows: npt.NDArray[np.uint8], scales: Floats, dimensions: int) -> Floats:
    """levels (n, width) -> values (n, d)."""
    values: Floats = scales[:, None] * (rows[:, :dimensions].astype(np.float32) - np.float32(CENTROID_ZERO))
    return values


def _compute_half_norms(rows: npt.NDArray[np.uint8], scales: Floats, dimensions: int) -> Floats:
    values = decode_levels(rows, scales, dimensions).astype(np.float64)
    half: Floats = (np.einsum("ij,ij->i", values, values) / 2).astype(np.float32)
    return half


def group_centroids(values: npt.NDArray[np.floating], starts: npt.NDArray[np.uint32], width: int) -> Centroids:
    """Values (K, d), in the order of their groups, and starts (G + 1,) of the groups -> centroids."""
    dimensions = values.shape[1]
    rows, scales = to_levels(values, width)
    groups = np.stack([values[a:b].mean(axis=0) for a, b in itertools.pairwise(starts)])
    group_rows, group_scales = to_levels(groups, width)
    mean_rows, mean_scales = to_levels(values.mean(axis=0, keepdims=True), width)
    return Centroids(
        dimensions=dimensions,
        rows=np.concatenate([rows, mean_rows]),
        scales=np.concatenate([scales, mean_scales]),
        half_norms=_compute_half_norms(rows, scales, dimensions),
        group_rows=group_rows,
        group_scales=group_scales,
        group_half_norms=_compute_half_norms(group_rows, group_scales, dimensions),
        starts=starts,
    )


def _make_one_group(values: npt.NDArray[np.floating], width: int) -> Centroids:
    return group_centroids(values, np.array([0, len(values)], np.uint32), width)


def assign(
    centroids: Centroids, rows: SignedRows, threads: int, most_groups: int = MOST_GROUPS, reach: float = REACH
) -> npt.NDArray[np.uint32]:
    """(n,) the nearest centroid of each row among the children of its nearest groups."""
    nearest = np.empty(len(rows), np.uint32)
    given = (rows.bytes, rows.scales, rows.sums)
    _native.assign(centroids.to_native(), *given, nearest, most_groups, reach, threads, choose_kernels())
    return nearest


def _update_centroids(
    values: npt.NDArray[np.floating],
    rows: SignedRows,
    nearest: npt.NDArray[np.uint32],
    rng: np.random.Generator,
    threads: int,
) -> npt.NDArray[np.float64]:
    """(K, d) means of the assigned rows; a centroid without rows moves to a random row."""
    sums = np.empty(values.shape, np.float64)
    counts = np.empty(len(values), np.int64)
    _native.sum_by_centroid(rows.bytes, rows.scales, nearest, sums, counts, threads, choose_kernels())
    empty = np.flatnonzero(counts == 0)
    means = sums / np.maximum(counts, 1)[:, None]
    if empty.size:
        means[empty] = rows[rng.integers(len(rows), size=empty.size)].decode()
    return means


def _kmeans(
    rows: SignedRows, count: int, rounds: int, rng: np.random.Generator, threads: int
) -> npt.NDArray[np.float64]:
    """(count, d): plain k-means, initialised with random rows."""
    values = rows[np.sort(rng.choice(len(rows), count, replace=False))].decode().astype(np.float64)
    for _ in range(rounds):
        values = _update_centroids(
            values, rows, assign(_make_one_group(values, rows.width), rows, threads), rng, threads
        )
    return values


def _split_in_proportion(sizes: npt.NDArray[np.int64], total: int) -> npt.NDArray[np.int64]:
    """`total` split in proportion to `sizes`: at least one, at most the size, largest remainders first."""
    ideal = sizes / sizes.sum() * total
    shares: npt.NDArray[np.int64] = np.clip(np.floor(ideal).astype(np.int64), 1, sizes)
    for group in np.argsort(shares - ideal, kind="stable"):
        if shares.sum() >= total:
            break
        if shares[group] < sizes[group]:
            shares[group] += 1
    return shares


def train(rows: SignedRows, count: int, rng: np.random.Generator, threads: int) -> Centroids:
    """The sample -> about `count` centroids (a few more or fewer if groups are tiny)."""
    groups = max(1, math.isqrt(count))
    coarse_rows = rows
    if len(rows) > groups * COARSE_SAMPLE:
        coarse_rows = rows[np.sort(rng.choice(len(rows), groups * COARSE_SAMPLE, replace=False))]
    coarse = _kmeans(coarse_rows, groups, COARSE_ROUNDS, rng, threads)
    group_of = assign(_make_one_group(coarse, rows.width), rows, threads)
    order = np.argsort(group_of, kind="stable")
    sizes = np.bincount(group_of, minlength=groups).astype(np.int64)
    kept = sizes > 0
    shares = _split_in_proportion(sizes[kept], count)
    ends = np.cumsum(sizes[kept])
    seeds = rng.integers(2**63, size=len(shares))

    def cluster(group: int) -> npt.NDArray[np.float64]:
        members = rows[order[ends[group] - sizes[kept][group] : ends[group]]]
        return _kmeans(members, int(shares[group]), GROUP_ROUNDS, np.random.default_rng(seeds[group]), 1)

    # There are many small groups: each thread clusters a whole one.
    children = list(map_in_order(cluster, range(len(shares)), threads))
    starts = np.concatenate([[0], np.cumsum(shares)]).astype(np.uint32)
    centroids = group_centroids(np.concatenate(children), starts, rows.width)
    values = _update_centroids(centroids.decode(), rows, assign(centroids, rows, threads), rng, threads)
    return group_centroids(values, starts, rows.width)
