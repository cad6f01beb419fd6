"""What the build stores, against NumPy: rotation, packing, codes, scales; awkward dimensions."""

from __future__ import annotations

import numpy as np
import pytest

from asterism.kernels import _native, reference
from asterism.kernels.reference import SharedDirection
from asterism.views.tokens.clustering import assign, group_centroids, train
from asterism.views.tokens.residual_codec import (
    compute_padded_width,
    draw_rotation_signs,
    lloyd_max,
    make_gaussian_codec,
    make_quantile_codec,
    transform,
)
from asterism.views.tokens.signed_rows import SignedRows
from tests.conftest import make_vectors

KERNELS = _native.kernel_names()
DIMENSIONS = [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 96, 127, 128, 129, 130, 384]


@pytest.fixture(params=KERNELS)
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ASTERISM_KERNELS", request.param)
    return request.param


@pytest.mark.parametrize("d", [*DIMENSIONS, 512, 1000, 4096])
def test_rotation(d: int, kernels: str) -> None:
    rng = np.random.default_rng(d)
    rows = rng.normal(size=(5, d)).astype(np.float32)
    signs = draw_rotation_signs(d, rng)
    turned = transform(rows, SharedDirection.none(d), signs, threads=2)
    np.testing.assert_array_equal(turned, reference.rotate(rows, signs))
    np.testing.assert_allclose(turned @ turned.T, rows @ rows.T, atol=1e-3 * d)  # an isometry


@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("d", [*DIMENSIONS, 4096])
def test_balance(d: int, halves: bool, kernels: str) -> None:
    rng = np.random.default_rng(d)
    rows = rng.normal(size=(5, d)).astype(np.float16 if halves else np.float32)
    signs, shared = draw_rotation_signs(d, rng), SharedDirection.from_mean(rng.normal(size=d).astype(np.float32), 5.3)
    balanced = reference.balance_vectors(rows.astype(np.float32), shared)
    np.testing.assert_array_equal(transform(rows, shared, signs, threads=2), reference.rotate(balanced, signs))
    np.testing.assert_allclose(reference.restore_vectors(balanced, shared), rows, atol=1e-3)
    queries, with_mean = reference.balance_queries(rows.astype(np.float32), shared)
    wide = rows.astype(np.float64)
    products = queries.astype(np.float64) @ balanced.astype(np.float64).T + with_mean[:, None]
    np.testing.assert_allclose(products, wide @ wide.T, atol=1e-5 * d)  # inner products stay the same


@pytest.mark.parametrize("d", DIMENSIONS)
def test_signed_rows(d: int, kernels: str) -> None:
    rows = np.random.default_rng(d).normal(size=(9, d)).astype(np.float32)
    rows[3] = 0
    signed = SignedRows.from_floats(rows, compute_padded_width(d, 4), threads=2)
    expected = reference.to_signed_bytes(rows, signed.width, reference.VECTOR_BYTE)
    np.testing.assert_array_equal(signed.bytes, expected.rows)
    np.testing.assert_array_equal(signed.scales, expected.scale)
    np.testing.assert_array_equal(signed.sums, expected.sums)
    assert (np.abs(signed.decode() - rows) <= signed.scales[:, None] * 0.501).all()


@pytest.mark.parametrize("d", [1, 7, 33, 128])
def test_sums_by_centroid(d: int, kernels: str) -> None:
    rng = np.random.default_rng(d)
    rows = SignedRows.from_floats(rng.normal(size=(50, d)).astype(np.float32), compute_padded_width(d, 4), threads=1)
    nearest = rng.integers(7, size=50).astype(np.uint32)
    sums, counts = np.empty((7, d)), np.empty(7, np.int64)
    _native.sum_by_centroid(rows.bytes, rows.scales, nearest, sums, counts, 2, kernels)
    expected = np.zeros((7, d))
    np.add.at(expected, nearest, rows.decode().astype(np.float64))
    np.testing.assert_array_equal(sums, expected)
    np.testing.assert_array_equal(counts, np.bincount(nearest, minlength=7))


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize(("most_groups", "reach"), [(1, 1.0), (3, 1.15), (2, 1e9), (12, 1.02), (99, 1e9)])
def test_assignment(d: int, most_groups: int, reach: float, kernels: str) -> None:
    """The nearest centroid in the groups of a vector's shortlist."""
    rows = make_vectors(30, d, longest=12, seed=d).flat.astype(np.float32)
    signed = SignedRows.from_floats(rows, compute_padded_width(d, 4), threads=2)
    centroids = train(signed, 40, np.random.default_rng(d), threads=2)
    found = assign(centroids, signed, 2, most_groups, reach)
    given = reference.to_signed_bytes(rows, signed.width, reference.VECTOR_BYTE)
    of_groups = reference.closeness(centroids.group_rows, centroids.group_scales, centroids.group_half_norms, given)
    looked_into = reference.make_shortlists(of_groups, given, most_groups, reach)
    close = reference.closeness(centroids.rows[:-1], centroids.scales[:-1], centroids.half_norms, given)
    close[~np.repeat(looked_into, np.diff(centroids.starts), axis=0)] = -np.inf
    np.testing.assert_array_equal(found, close.argmax(axis=0))


@pytest.mark.parametrize("d", [32, 128, 4096])
def test_the_largest_products_fit(d: int, kernels: str) -> None:
    """Bytes of ±63 with levels of 0 and 63: the largest sums that occur."""
    rng = np.random.default_rng(d)
    values = np.concatenate([np.ones((1, d)), -np.ones((1, d)), rng.choice([-1.0, 1.0], (30, d))])
    centroids = group_centroids(values, np.array([0, 1, 2, 20, 32], np.uint32), compute_padded_width(d, 4))
    rows = values[rng.permutation(32)].astype(np.float32)
    signed = SignedRows.from_floats(rows, compute_padded_width(d, 4), threads=1)
    assert np.abs(signed.bytes[:, :d]).min() == 63
    assert set(np.unique(centroids.rows[:32, :d])) == {0, 63}
    given = reference.to_signed_bytes(rows, signed.width, reference.VECTOR_BYTE)
    close = reference.closeness(centroids.rows[:-1], centroids.scales[:-1], centroids.half_norms, given)
    np.testing.assert_array_equal(assign(centroids, signed, 1, 4, 1e9), close.argmax(axis=0))
    np.testing.assert_array_equal(values[close.argmax(axis=0)], rows)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_float16_is_widened_exactly(d: int, kernels: str) -> None:
    halves = np.random.default_rng(d).integers(0, 2**16, size=(9, d)).astype(np.uint16).view(np.float16)
    halves[~np.isfinite(halves)] = 0
    widened = transform(halves, SharedDirection.none(d), np.zeros((0, d), np.float32), threads=1)
    np.testing.assert_array_equal(widened, halves.astype(np.float32))


@pytest.mark.parametrize("bits", [1, 2, 4])
@pytest.mark.parametrize("levels", ["gaussian", "quantile"])
@pytest.mark.parametrize("d", DIMENSIONS)
def test_codes(d: int, levels: str, bits: int, kernels: str) -> None:
    rng = np.random.default_rng(d)
    rows = make_vectors(20, d, longest=12, seed=d).flat.astype(np.float32)
    width = compute_padded_width(d, bits)
    signed = SignedRows.from_floats(rows, width, threads=2)
    centroids = train(signed, 6, rng, threads=2)
    signs = np.zeros((0, d), np.float32)
    codec = (
        make_gaussian_codec(centroids, signs, signed, bits, SharedDirection.none(d))
        if levels == "gaussian"
        else make_quantile_codec(centroids, signed, bits, 1)
    )
    nearest = rng.integers(len(centroids), size=len(rows)).astype(np.uint32)
    rows[0] = centroids.decode()[nearest[0]]  # a residual of zero
    codes, scales = codec.encode(rows, nearest, threads=2)
    form = reference.CodeFormat(bits, codec.level_bytes, codec.step, codec.zero, codec.scales_whole_vector)
    own = centroids.decode()[nearest]
    expected_codes, expected_scales = reference.encode_residuals(rows, own, codec.cutoffs, form, width)
    np.testing.assert_array_equal(codes, expected_codes)
    np.testing.assert_array_equal(scales, expected_scales)


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_tiny_residuals(bits: int, kernels: str) -> None:
    """The reciprocal of their energy overflows float32."""
    rows = np.zeros((3, 33), np.float32)
    rows[:, 0] = [1e-20, -1e-22, 0]
    width = compute_padded_width(33, bits)
    none = np.zeros((0, 33), np.float32)
    centroids = group_centroids(np.zeros((1, 33)), np.array([0, 1], np.uint32), width)
    signed = SignedRows.from_floats(rows, width, 1)
    codec = make_gaussian_codec(centroids, none, signed, bits, SharedDirection.none(33))
    codes, scales = codec.encode(rows, np.zeros(3, np.uint32), threads=1)
    expected = reference.encode_residuals(rows, np.zeros_like(rows), codec.cutoffs, codec.code_format, width)
    np.testing.assert_array_equal(codes, expected[0])
    np.testing.assert_array_equal(scales, expected[1])


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_integers_cut_where_floats_do(bits: int, kernels: str) -> None:
    """Coordinates and cutoffs are compared as 16-bit integers: a code differs only where both are nearly equal."""
    rows = np.random.default_rng(bits).normal(size=(300, 128)).astype(np.float32)
    signed = SignedRows.from_floats(rows, 128, threads=1)
    centroids, none = train(signed, 1, np.random.default_rng(0), 1), np.zeros((0, 128), np.float32)
    codec = make_gaussian_codec(centroids, none, signed, bits, SharedDirection.none(128))
    codes, _ = codec.encode(rows, np.zeros(300, np.uint32), threads=1)
    residual = rows - codec.centroids.decode()[0]
    units = residual / np.sqrt(np.square(residual).mean(axis=1, keepdims=True))
    by_hand = (units[:, :, None] > codec.cutoffs).sum(axis=2)
    near_a_cutoff = np.abs(units[:, :, None] - codec.cutoffs).min(axis=2) < 1e-4
    assert (reference.unpack(codes, bits) == by_hand)[~near_a_cutoff].all()
    assert near_a_cutoff.mean() < 0.01


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_pack_unpack(bits: int) -> None:
    codes = np.random.default_rng(0).integers(2**bits, size=(7, 128 * 3))
    packed = reference.pack(codes, bits)
    assert packed.shape == (7, 48 * bits)
    np.testing.assert_array_equal(reference.unpack(packed, bits), codes)


def test_lloyd_max_is_the_published_quantiser() -> None:
    """Max 1960, table I: levels and mean squared error for 2, 4 and 16 levels."""
    assert lloyd_max(1)[0][-1] == pytest.approx(0.7979, abs=1e-4)
    np.testing.assert_allclose(lloyd_max(2)[0][2:], [0.4528, 1.510], atol=1e-3)
    np.testing.assert_allclose(lloyd_max(4)[0][[8, 15]], [0.1284, 2.733], atol=1e-3)


def test_decoded_residual_projects_without_bias(kernels: str) -> None:
    """RaBitQ: <decoded, residual> = |residual|² for every vector."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(200, 64)).astype(np.float32)
    signed = SignedRows.from_floats(rows, 64, threads=1)
    centroids = train(signed, 4, rng, threads=1)
    codec = make_gaussian_codec(centroids, np.zeros((0, 64), np.float32), signed, 4, SharedDirection.none(64))
    nearest = np.zeros(len(rows), np.uint32)
    codes, scales = codec.encode(rows, nearest, threads=1)
    residual = rows - centroids.decode()[nearest]
    levels = codec.level_bytes[reference.unpack(codes, 4)].astype(np.float32) - 31.5
    decoded = scales[:, None] * codec.step * levels
    np.testing.assert_allclose((decoded * residual).sum(1), (residual**2).sum(1), rtol=1e-4)


def test_quantile_levels_are_colbertv2s() -> None:
    rng = np.random.default_rng(5)
    rows = SignedRows.from_floats(rng.normal(size=(400, 32)).astype(np.float32), compute_padded_width(32, 2), threads=1)
    centroids = train(rows, 4, rng, threads=1)
    codec = make_quantile_codec(centroids, rows, 2, 1)
    residuals = rows.decode() - centroids.decode()[assign(centroids, rows, 1)]
    np.testing.assert_allclose(codec.cutoffs, np.quantile(residuals, [0.25, 0.5, 0.75]), atol=1e-6)
    weights = codec.step * (codec.level_bytes[:4].astype(float) - codec.zero)
    np.testing.assert_allclose(weights, np.quantile(residuals, [0.125, 0.375, 0.625, 0.875]), atol=codec.step)
