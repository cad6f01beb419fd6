"""The mean and the stretch of sampled vectors: by hand, and where there is little to measure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from asterism import TokenIndex, TokenSearch, TokenVectors
from asterism.kernels import reference
from asterism.storage.manifest import write_manifest
from asterism.views.tokens.shared_direction import LARGEST_STRETCH, measure_shared_direction
from asterism.views.tokens.stream import CHUNK_FLOATS
from tests.conftest import brute_force, make_query, make_vectors, share_direction


def test_by_hand() -> None:
    """Mean (4, 0), variance 1 along it; one more vector has an energy of 18, half of it along the mean."""
    rows = np.array([[3, 1], [3, -1], [5, 1], [5, -1]], np.float32)
    shared = measure_shared_direction(rows)
    np.testing.assert_array_equal(shared.mean, [4, 0])
    np.testing.assert_array_equal(shared.axis, [1, 0])
    variance = (4 * 1 + 18 / 2) / 5
    assert shared.stretch == pytest.approx(((16 + variance) / variance) ** 0.25)
    np.testing.assert_allclose(reference.balance_vectors(rows, shared)[0], [-shared.stretch, 1], rtol=1e-6)


def test_it_minimises_the_error() -> None:
    """The product of the energies of balanced queries and balanced vectors, over many stretches."""
    rows = share_direction(make_vectors(9000, 32, seed=3).flat)
    shared = measure_shared_direction(rows)

    def estimate_error(stretch: float) -> float:
        tried = reference.SharedDirection(shared.mean, shared.axis, stretch)
        vectors, (queries, _) = reference.balance_vectors(rows, tried), reference.balance_queries(rows, tried)
        return float(np.square(queries, dtype=np.float64).sum() * np.square(vectors, dtype=np.float64).sum())

    errors = [estimate_error(shared.stretch * factor) for factor in (0.5, 0.8, 1, 1.25, 2)]
    assert min(errors) == errors[2]
    assert shared.stretch > 3


def test_without_a_mean_nothing_changes() -> None:
    rows = np.array([[1, 2], [-1, -2], [0, 0]], np.float32)
    for given in (rows, np.zeros((3, 2), np.float32)):
        shared = measure_shared_direction(given)
        assert shared.stretch == 1
        np.testing.assert_array_equal(reference.balance_vectors(rows, shared), rows)
        queries, with_mean = reference.balance_queries(rows, shared)
        np.testing.assert_array_equal(queries, rows)
        assert not with_mean.any()


def test_nearly_without_a_mean_nearly_nothing_changes() -> None:
    rows = np.random.default_rng(0).normal(size=(20_000, 64)).astype(np.float32)
    assert 1 <= measure_shared_direction(rows).stretch < 1.01


@pytest.mark.parametrize("d", [1, 2, 128, 4096])
@pytest.mark.parametrize("scale", [1e-20, 1e-3, 1.0, 1e14])
def test_the_stretch_is_bounded(d: int, scale: float) -> None:
    """However equal vectors are: even the largest sample of equal vectors."""
    for count in (1, 2, CHUNK_FLOATS // d // (1 if d > 2 else 64)):
        shared = measure_shared_direction(np.full((count, d), scale, np.float32))
        assert 1 < shared.stretch < LARGEST_STRETCH
        assert np.linalg.norm(shared.axis) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("bits", [1, 2, 4])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e10])
@pytest.mark.parametrize("count", [1, 5])
def test_equal_vectors(count: int, scale: float, bits: int, tmp_path: Path) -> None:
    """Nothing is left to code; later vectors, which differ, still can be added."""
    rows = np.repeat(make_query(24, 1), count, axis=0) * np.float32(scale)
    index = TokenIndex.build(tmp_path / "x", TokenVectors(rows, np.arange(count + 1)), bits=bits)
    query = make_query(24, 3)
    exact = TokenSearch(method="exact")
    np.testing.assert_allclose(index.search(query, 1, exact).scores, (query @ rows[0]).sum(), rtol=1e-4)
    more = make_vectors(20, 24, seed=4, shortest=1)
    more = TokenVectors(more.flat * np.float32(scale), more.offsets)
    index = index.add(more)
    ids, scores = index.search(query, 20 + count, exact)
    expected = np.concatenate([brute_force(TokenVectors(rows, np.arange(count + 1)), query), brute_force(more, query)])
    np.testing.assert_allclose(scores, expected[ids], atol={1: 2.0, 2: 1.0, 4: 0.3}[bits] * scale)


@pytest.mark.parametrize("parts", [1, 3, 40])
def test_chunks_and_threads_do_not_matter(parts: int, tmp_path: Path) -> None:
    vectors = make_vectors(40, 24, longest=30, seed=5, shortest=1)
    vectors = TokenVectors(share_direction(vectors.flat), vectors.offsets)
    cuts = np.array_split(np.arange(40), parts)
    chunks = [TokenVectors.from_documents([vectors[int(i)] for i in cut]) for cut in cuts]
    whole = TokenIndex.build(tmp_path / "x", vectors, threads=1)
    again = TokenIndex.build(tmp_path / "y", chunks, threads=3)
    assert whole._codec.shared.stretch == again._codec.shared.stretch > 2
    for file in sorted(whole.path.rglob("*.npy")):
        assert file.read_bytes() == (again.path / file.relative_to(whole.path)).read_bytes()


def test_a_codec_of_the_first_version(tmp_path: Path) -> None:
    """It has neither mean nor stretch; what `add` writes stays readable for the programs that could read it."""
    index = TokenIndex.build(tmp_path / "x", make_vectors(30, 24, shortest=1), bits=4, levels="quantile")
    found = index.search(make_query(24), 30)
    content = dict(index._manifest.content)
    stored = dict(content["codec"])
    assert stored.pop("stretch") == 1
    stored["files"] = {name: facts for name, facts in stored["files"].items() if name != "mean.npy"}
    write_manifest(index.path, {**content, "codec": stored, "version": 1})
    (index.path / "codec" / "mean.npy").unlink()
    older = TokenIndex.open(index.path)
    older.check()
    np.testing.assert_array_equal(older.search(make_query(24), 30).scores, found.scores)
    grown = older.add(make_vectors(5, 24, shortest=1))
    assert len(grown) == 35
    assert grown._manifest.whole("version") == 1
