"""The sample, the number of centroids, and the guarantees of training."""

from __future__ import annotations

import math

import numpy as np
import pytest

from asterism.views.tokens.clustering import (
    _split_in_proportion,
    assign,
    choose_centroid_count,
    choose_sample,
    compute_sample_share,
    decode_levels,
    to_levels,
    train,
)
from asterism.views.tokens.signed_rows import SignedRows
from tests.conftest import make_vectors


@pytest.mark.parametrize(
    ("vectors", "sample", "count"),
    [(2_040_016, 10**6, 16_384), (20_000_000, 10**7, 65_536), (600_000_000, 10**9, 262_144), (1, 1, 1), (100, 100, 25)],
)
def test_number_of_centroids_is_colbertv2s(vectors: int, sample: int, count: int) -> None:
    assert choose_centroid_count(vectors, sample) == count


def test_sample_is_about_256_roots_and_does_not_depend_on_chunks() -> None:
    n = 1_000_000
    chosen = choose_sample(np.arange(n), compute_sample_share(n), seed=3)
    assert chosen.sum() == pytest.approx(256 * math.sqrt(n), rel=0.01)
    pieces = [choose_sample(part, compute_sample_share(n), 3) for part in np.array_split(np.arange(n), 7)]
    np.testing.assert_array_equal(np.concatenate(pieces), chosen)
    assert (choose_sample(np.arange(n), compute_sample_share(n), seed=4) != chosen).any()
    assert choose_sample(np.arange(100), compute_sample_share(100), 3).all()


def test_a_smaller_share_is_part_of_a_larger_one() -> None:
    positions = np.arange(10_000)
    assert (choose_sample(positions, 0.2, 1) <= choose_sample(positions, 0.5, 1)).all()


def test_shares_add_up() -> None:
    rng = np.random.default_rng(0)
    for total in (5, 17, 64):
        sizes = rng.integers(1, 40, 5)
        shares = _split_in_proportion(sizes, min(total, int(sizes.sum())))
        assert (shares >= 1).all()
        assert (shares <= sizes).all()
        assert shares.sum() == min(total, sizes.sum())


def test_levels_are_within_half_a_step() -> None:
    values = np.random.default_rng(0).normal(size=(50, 33))
    rows, scales = to_levels(values, 64)
    error = np.abs(decode_levels(rows, scales, 33) - values)
    assert (error <= scales[:, None] * 0.5001).all()
    assert to_levels(np.zeros((1, 4)), 32)[1] == [0]


def test_training_is_seeded_and_finds_near_centroids() -> None:
    rows = make_vectors(300, 24, longest=20, shortest=5).flat.astype(np.float32)
    signed = SignedRows.from_floats(rows, 32, threads=1)
    first = train(signed, 64, np.random.default_rng(1), threads=1)
    again = train(signed, 64, np.random.default_rng(1), threads=2)
    np.testing.assert_array_equal(first.rows, again.rows)
    values = first.decode().astype(np.float64)
    distances = ((rows[:, None].astype(np.float64) - values[None]) ** 2).sum(axis=2)
    everywhere = assign(first, signed, threads=2, most_groups=len(first.group_rows), reach=1e9)
    excess = distances[np.arange(len(rows)), everywhere] - distances.min(axis=1)
    assert excess.max() < 0.02  # compared as bytes: never much farther than the nearest
    assert (everywhere == assign(first, signed, threads=1)).mean() > 0.9
    assert distances.min(axis=1).mean() < 0.8 * ((rows - rows.mean(axis=0)) ** 2).sum(axis=1).mean()
