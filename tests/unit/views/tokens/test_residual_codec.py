"""Rotation, decoding and what centroids leave over: against NumPy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asterism import TokenVectors
from asterism.kernels import reference
from asterism.kernels.reference import SharedDirection
from asterism.settings import TokenBuild
from asterism.views.tokens.clustering import group_centroids, train
from asterism.views.tokens.codec_files import train_codec
from asterism.views.tokens.residual_codec import (
    ResidualCodec,
    compute_padded_width,
    draw_rotation_signs,
    make_flat_codec,
    transform,
)
from asterism.views.tokens.signed_rows import SignedRows
from asterism.views.tokens.stream import Sample, TokenStream
from tests.conftest import make_query, make_vectors, share_direction
from tests.unit.views.tokens.coded import CODECS, name_of

CODED = [codec for codec in CODECS if codec["bits"] < 16 and "refinement" not in codec]


def codec_for(vectors: TokenVectors, folder: Path, settings: dict[str, Any]) -> ResidualCodec:
    return train_codec(Sample(TokenStream(vectors, folder), 7), TokenBuild(**settings), 1)


@pytest.mark.parametrize("d", range(1, 131))
def test_unrotate_undoes_rotate(d: int) -> None:
    rng = np.random.default_rng(d)
    rows, signs = rng.normal(size=(5, d)).astype(np.float32), draw_rotation_signs(d, rng)
    turned = transform(rows, SharedDirection.none(d), signs, 1)
    np.testing.assert_array_equal(turned, reference.rotate(rows, signs))
    np.testing.assert_allclose(reference.unrotate(turned, signs), rows, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(turned, axis=1), np.linalg.norm(rows, axis=1), rtol=1e-5)


def test_rotation_of_no_rows_is_no_rows() -> None:
    signs = draw_rotation_signs(24, np.random.default_rng(0))
    none = np.zeros((0, 24), np.float32)
    assert reference.rotate(none, signs).shape == reference.unrotate(none, signs).shape == (0, 24)


@pytest.mark.parametrize("d", [1, 16, 33, 100, 128])
@pytest.mark.parametrize("settings", CODED, ids=name_of)
def test_decoded_vectors_have_the_similarities_of_their_codes(settings: dict[str, Any], d: int, tmp_path: Path) -> None:
    """Up to the query's bytes: half a step a coordinate."""
    vectors = make_vectors(60, d, longest=6, seed=d, shortest=1)
    codec = codec_for(vectors, tmp_path, settings)
    turned = codec.transform(vectors.flat, 1)
    nearest = np.random.default_rng(d).integers(len(codec.centroids), size=len(turned)).astype(np.uint32)
    codes, exact_scales = codec.encode(turned, nearest, 1)
    scales = exact_scales.astype(np.float16)
    decoded = codec.decode(codes, scales, nearest)
    assert decoded.shape == vectors.flat.shape
    query = make_query(d, 7)
    balanced, with_mean = reference.balance_queries(query, codec.shared)
    bytes_of = reference.to_signed_bytes(reference.rotate(balanced, codec.signs), codec.centroids.rows.shape[1])
    table = reference.centroid_scores(codec.centroids.rows[nearest], codec.centroids.scales[nearest], bytes_of)
    expected = reference.compare_codes(codes, scales, table + with_mean, codec.code_format, bytes_of)
    spread = np.abs(codec.transform(decoded, 1)).sum(axis=1, keepdims=True)
    bound = bytes_of.scale[None, :] / 2 * spread + 1e-4
    assert (np.abs(decoded @ query.T - expected) <= bound).all()


@pytest.mark.parametrize("settings", CODED, ids=name_of)
def test_decoding_is_near_what_was_encoded(settings: dict[str, Any], tmp_path: Path) -> None:
    vectors = make_vectors(300, 64, longest=9, seed=4, shortest=1)
    codec = codec_for(vectors, tmp_path, settings)
    turned = codec.transform(vectors.flat, 1)
    nearest = codec.find_nearest(turned, 1)
    codes, scales = codec.encode(turned, nearest, 1)
    decoded = codec.decode(codes, scales.astype(np.float16), nearest)
    cosines = np.einsum("ij,ij->i", decoded, vectors.flat) / np.linalg.norm(decoded, axis=1)
    assert cosines.mean() > {1: 0.75, 2: 0.9, 4: 0.97}[codec.bits]


@pytest.mark.parametrize("bits", [2, 4])
def test_a_shared_direction_costs_few_bits(bits: int, tmp_path: Path) -> None:
    """With a mean cosine of 0.95, an error of similarities that is several times smaller than without balance."""
    vectors = make_vectors(400, 64, longest=9, seed=4, shortest=1)
    rows, query = share_direction(vectors.flat, 4.4), share_direction(make_query(64, 50), 4.4)
    assert np.square(rows.mean(axis=0)).sum() == pytest.approx(0.95, abs=0.01)
    codec = codec_for(TokenVectors(rows, vectors.offsets), tmp_path, {"bits": bits})

    def measure_error(given: ResidualCodec, vectors: np.ndarray, query: np.ndarray) -> float:
        transformed = given.transform(vectors, 1)
        nearest = given.find_nearest(transformed, 1)
        codes, scales = given.encode(transformed, nearest, 1)
        errors = (given.decode(codes, scales.astype(np.float16), nearest) - vectors) @ query.T
        return float(errors.std())

    plain = TokenVectors(vectors.flat, vectors.offsets)
    still = codec_for(plain, tmp_path, {"bits": bits})
    moved = replace(codec, shared=SharedDirection.none(64))
    signed = SignedRows.from_floats(moved.transform(rows, 1), codec.centroids.rows.shape[1], 1)
    unbalanced = train(signed, 64, np.random.default_rng(0), 1)
    assert 3 * measure_error(codec, rows, query) < measure_error(replace(moved, centroids=unbalanced), rows, query)
    # Moved apart and normalised, vectors and queries are about 4.5 times shorter across the direction.
    assert measure_error(codec, rows, query) < 2 * measure_error(still, plain.flat, make_query(64, 50)) / 4.5**2


def test_left_over_by_hand() -> None:
    """Two centroids, no rotation: the energy of what remains, as a share of all."""
    values = np.array([[31.5, 0], [0, 31.5]], np.float32)
    centroids = group_centroids(values, np.array([0, 2], np.uint32), compute_padded_width(2, 4))
    none, shared = np.zeros((0, 2), np.float32), SharedDirection.none(2)
    levels, cutoffs = np.zeros(16, np.uint8), np.zeros(15, np.float32)
    codec = ResidualCodec(4, centroids, none, levels, cutoffs, 1.0, 31.5, False, shared)
    means = centroids.decode()
    rows = np.array([[30, 1], [2, 29], [33, -3]], np.float32)
    rest = rows - means[[0, 1, 0]]
    assert codec.measure_left_over(rows, 1) == pytest.approx((rest**2).sum() / (rows**2).sum())
    assert codec.measure_left_over(rows.astype(np.float16), 1) == pytest.approx(codec.measure_left_over(rows, 1))
    assert codec.measure_left_over(means, 1) == pytest.approx(0, abs=1e-9)
    assert codec.measure_left_over(np.zeros((3, 2), np.float32), 1) == 0


def test_a_flat_codec_leaves_everything_over() -> None:
    assert make_flat_codec(5, 16).measure_left_over(np.ones((4, 5), np.float32), 1) == pytest.approx(1)


def test_left_over_grows_with_drift(tmp_path: Path) -> None:
    flat = make_vectors(800, 32, longest=9, seed=1).flat
    half = len(flat) // 2
    codec = codec_for(TokenVectors(flat[:half], [0, half]), tmp_path, {"bits": 4})
    others = make_vectors(200, 32, seed=2).flat
    assert (
        0
        < codec.measure_left_over(flat[:half], 1)
        < codec.measure_left_over(flat[half:], 1)
        < codec.measure_left_over(others, 1)
        < 2
    )
