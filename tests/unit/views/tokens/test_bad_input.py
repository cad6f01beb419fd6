"""Input that cannot be used raises one clear error of ours, and leaves nothing behind."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import asterism
from asterism import TokenIndex, TokenSearch, TokenVectors
from asterism.errors import (
    AsterismError,
    IndexBusy,
    IndexExists,
    IndexFolderError,
    NotAnIndex,
    SettingError,
    VectorsError,
)
from asterism.storage.lock import hold_writer_lock
from tests.conftest import make_query, make_vectors

OFFSETS = np.array([0, 2, 3])


def flat(d: int = 4, n: int = 3) -> np.ndarray:
    return np.ones((n, d), np.float32)


@pytest.mark.parametrize(
    ("values", "offsets", "message"),
    [
        (flat().astype(np.complex64), OFFSETS, "complex64"),
        (np.ones((3, 4), np.int8), OFFSETS, "int8"),
        (flat()[0], OFFSETS, r"shape \(4,\)"),
        (np.ones((3, 0), np.float32), OFFSETS, "shape"),
        (flat(), np.array([0, 2]), "expected from 0 to the number of vectors, 3"),
        (flat(), np.array([1, 3]), "from 1"),
        (flat(), np.array([0, 3, 2, 3]), "decrease after position 1"),
        (flat(), np.array([0.0, 3.0]), "integers"),
        (flat(), np.array([], np.int64), "shape"),
        (flat(), 3, "shape"),
    ],
)
def test_token_vectors(values: np.ndarray, offsets: np.ndarray, message: str) -> None:
    with pytest.raises(VectorsError, match=message):
        TokenVectors(values, offsets)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_finite(bad: float, tmp_path: Path) -> None:
    vectors = make_vectors(20, 8)
    vectors.flat[7, 3] = bad
    with pytest.raises(VectorsError, match="row 7"):
        TokenIndex.build(tmp_path / "x", vectors)
    assert not list(tmp_path.iterdir())


def test_large_values(tmp_path: Path) -> None:
    with pytest.raises(VectorsError, match="1e15"):
        TokenIndex.build(tmp_path / "x", TokenVectors(np.full((4, 3), 1e38, np.float32), np.array([0, 4])))
    large = TokenVectors(np.full((4, 3), 1e14, np.float32), np.array([0, 4]))
    for bits in (1, 4, 32):
        index = TokenIndex.build(tmp_path / f"{bits}", large, bits=bits)
        assert index.search(np.ones((1, 3), np.float32)).scores == pytest.approx([3e14], rel=0.01)


def test_zero_documents(tmp_path: Path) -> None:
    with pytest.raises(VectorsError, match="zero documents"):
        TokenIndex.build(tmp_path / "x", TokenVectors(np.empty((0, 4), np.float32), np.array([0])))
    with pytest.raises(VectorsError, match="zero documents"):
        TokenIndex.build(tmp_path / "x", iter([]))
    with pytest.raises(VectorsError, match="without a vector"):
        TokenIndex.build(tmp_path / "x", TokenVectors(np.empty((0, 4), np.float32), np.array([0, 0])))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("bits", [1, 2, 4, 16, 32])
@pytest.mark.parametrize("method", ["exact", "colbert", "xtr"])
def test_one_document_one_vector(bits: int, method: str, tmp_path: Path) -> None:
    index = TokenIndex.build(tmp_path / "x", TokenVectors(flat(4, 1), np.array([0, 1])), bits=bits)
    ids, scores = index.search(flat(4, 2), 5, TokenSearch(method=method))
    assert ids.tolist() == [0]
    assert scores == pytest.approx([8.0], abs=0.1)
    assert (ids.dtype, scores.dtype) == (np.int64, np.float32)


def test_documents_without_vectors_come_last(tmp_path: Path) -> None:
    vectors = TokenVectors(flat(4, 3), np.array([0, 0, 1, 1, 3, 3]))
    index = TokenIndex.build(tmp_path / "x", vectors)
    for method in ("exact", "colbert", "xtr"):
        ids, scores = index.search(flat(4, 1), 5, TokenSearch(method=method))
        assert ids.tolist() == [1, 3, 0, 2, 4]
        assert np.isneginf(scores[2:]).all()


def test_fixed_is_a_promise(tmp_path: Path) -> None:
    with pytest.raises(VectorsError, match="fixed=2"):
        TokenIndex.build(tmp_path / "x", TokenVectors(flat(), OFFSETS), fixed=2)
    assert not list(tmp_path.iterdir())


def test_chunks(tmp_path: Path) -> None:
    with pytest.raises(VectorsError, match="a chunk is a str, expected TokenVectors"):
        TokenIndex.build(tmp_path / "x", ["fox"])
    with pytest.raises(VectorsError, match=r"document 0 has shape \(4,\)"):
        TokenIndex.build(tmp_path / "x", flat())
    with pytest.raises(VectorsError, match="int was given"):
        TokenIndex.build(tmp_path / "x", 5)
    with pytest.raises(VectorsError, match="5 dimensions, the first has 4"):
        TokenIndex.build(tmp_path / "x", [TokenVectors(flat(4), OFFSETS), TokenVectors(flat(5), OFFSETS)])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (make_query(8), "8 dimensions, the index has 16"),
        (make_query(16).astype(np.int64), "int64"),
        (make_query(16)[0], "shape"),
        (np.empty((0, 16), np.float32), "no vectors"),
        (np.full((2, 16), np.nan, np.float32), "NaN"),
        (make_query(16, 1025), "1025 vectors"),
        ("text", "type"),
    ],
)
def test_queries(index: TokenIndex, query: object, message: str) -> None:
    with pytest.raises(VectorsError, match=message):
        index.search(query)
    with pytest.raises(VectorsError, match="query 1"):
        index.search_many([make_query(16), query])


@pytest.mark.parametrize("k", [0, -1, 2.5, "10", None, True])
def test_k(index: TokenIndex, k: object) -> None:
    with pytest.raises(SettingError, match="k is"):
        index.search(make_query(16), k)


def test_k_beyond_the_corpus(index: TokenIndex) -> None:
    assert len(index.search(make_query(16), 10_000).ids) == len(index)
    ids, scores = index.search_many([make_query(16)], 100)
    assert ids.shape == scores.shape == (1, len(index))
    assert sorted(ids[0]) == list(range(len(index)))


def test_no_queries(index: TokenIndex) -> None:
    ids, scores = index.search_many([], 5)
    assert ids.shape == scores.shape == (0, 5)


@pytest.mark.parametrize(
    "eligible",
    [np.ones(60, int), np.ones(59, bool), [0, 1], np.ones((60, 1), bool)],
    ids=["int", "short", "ids", "matrix"],
)
def test_subsets(index: TokenIndex, eligible: object) -> None:
    with pytest.raises(SettingError, match="eligible"):
        index.search(make_query(16), eligible=eligible)


def test_empty_subset(index: TokenIndex) -> None:
    assert len(index.search(make_query(16), eligible=np.zeros(60, bool)).ids) == 0


def test_unknown_settings_name_the_nearest(tmp_path: Path, index: TokenIndex) -> None:
    with pytest.raises(SettingError, match="did you mean 'method'"):
        TokenSearch(metod="xtr")
    with pytest.raises(SettingError, match="did you mean 'bits'"):
        TokenIndex.build(tmp_path / "y", make_vectors(), bit=4)
    with pytest.raises(SettingError, match="known are"):
        TokenSearch(zzz=1)
    with pytest.raises(SettingError, match="expected TokenSearch"):
        index.search(make_query(16), settings={"method": "xtr"})


@pytest.mark.parametrize(
    "setting",
    [
        {"bits": 3},
        {"bits": True},
        {"levels": "x"},
        {"fixed": -1},
        {"seed": 1.5},
        {"refinement": "float16", "bits": 16},
        {"threads": "2"},
        {"threads": 257},
        {"bits": 4.0},
        {"seed": 2**64},
    ],
)
def test_build_settings(setting: dict, tmp_path: Path) -> None:
    with pytest.raises(SettingError):
        TokenIndex.build(tmp_path / "x", make_vectors(), **setting)


@pytest.mark.parametrize(
    "setting",
    [
        {"method": "x"},
        {"imputation": "mean"},
        {"probes": -1},
        {"threads": 0},
        {"refine": 1.5},
        {"confidence": -1},
        {"confidence": "high"},
    ],
)
def test_search_settings(setting: dict) -> None:
    with pytest.raises(SettingError):
        TokenSearch(**setting)


def test_paths(tmp_path: Path, index: TokenIndex) -> None:
    with pytest.raises(IndexExists):
        TokenIndex.build(index.path, make_vectors())
    assert len(TokenIndex.open(index.path)) == 60
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(IndexExists):
        TokenIndex.build(tmp_path / "file", make_vectors())
    for name in ("missing", "file", "folder"):
        with pytest.raises(NotAnIndex):
            TokenIndex.open(tmp_path / name)


def test_add(index: TokenIndex) -> None:
    with pytest.raises(VectorsError, match="8 dimensions, the index has 16"):
        index.add(make_vectors(5, 8))
    bad = make_vectors(5, 16, shortest=1)
    bad.flat[0, 0] = np.nan
    with pytest.raises(VectorsError, match="NaN"):
        index.add(bad)
    assert len(TokenIndex.open(index.path)) == 60
    assert len(index.add(make_vectors(5, 16))) == 65


def test_add_while_another_writes(index: TokenIndex) -> None:
    with hold_writer_lock(index.path), pytest.raises(IndexBusy):
        index.add(make_vectors(5, 16))
    assert len(index.add(make_vectors(5, 16))) == 65


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    vectors = TokenVectors(np.random.default_rng(0).normal(size=(40, 8)).astype(np.float32), np.arange(6) * 8)
    index = TokenIndex.build(tmp_path / "x", vectors, fixed=np.int64(8), bits=np.int8(4), seed=np.uint16(3))
    assert len(index.search(make_query(8), np.int32(2), TokenSearch(probes=np.int64(2))).ids) == 2


@pytest.mark.parametrize("k", [2**31, 2**59, 2**64, np.array([1, 2])])
def test_k_too_large(index: TokenIndex, k: object) -> None:
    with pytest.raises(SettingError, match="k is"):
        index.search_many([make_query(16)] * 32, k)


@pytest.mark.parametrize("setting", [{"bits": 16}, {"bits": 4, "refinement": "float16"}])
def test_beyond_float16(setting: dict, tmp_path: Path) -> None:
    with pytest.raises(VectorsError, match="row 0 exceeds float16"):
        TokenIndex.build(tmp_path / "x", TokenVectors(np.full((4, 3), 1e5, np.float32), [0, 4]), **setting)
    large = TokenVectors(np.full((4, 3), 6e4, np.float32), [0, 4])
    assert TokenIndex.build(tmp_path / "y", large, **setting).search(np.ones((1, 3), np.float32)).scores[0] > 1e5


def test_out_of_proportion(tmp_path: Path) -> None:
    vectors = make_vectors(20, 16, shortest=1)
    index = TokenIndex.build(tmp_path / "x", vectors, bits=4)
    with pytest.raises(VectorsError, match="too different from the lengths"):
        index.add(TokenVectors(vectors.flat * np.float32(1e9), vectors.offsets))
    assert len(TokenIndex.open(index.path)) == 20


def test_not_a_matrix(index: TokenIndex) -> None:
    with pytest.raises(VectorsError, match="is not a matrix"):
        index.search([[1.0, 2.0], [3.0]])
    assert len(TokenVectors.from_documents(np.ones((3, 4, 5), np.float32))) == 3


def test_an_index_that_was_replaced(tmp_path: Path) -> None:
    old = TokenIndex.build(tmp_path / "x", make_vectors(30, 16, seed=1))
    shutil.rmtree(tmp_path / "x")
    TokenIndex.build(tmp_path / "x", make_vectors(30, 16, seed=2))
    with pytest.raises(IndexFolderError, match="replaced"):
        old.add(make_vectors(3, 16))
    TokenIndex.open(tmp_path / "x").check()


def test_unknown_kernels(index: TokenIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASTERISM_KERNELS", "avx9000")
    with pytest.raises(SettingError, match="avx9000"):
        TokenIndex.open(index.path)


def test_one_tree() -> None:
    values = vars(asterism.errors).values()
    found = {value for value in values if isinstance(value, type) and issubclass(value, Exception)}
    found -= {value for value in found if issubclass(value, Warning)}
    assert {AsterismError, IndexBusy, VectorsError} < found
    assert all(issubclass(value, AsterismError) for value in found)


@pytest.mark.parametrize("convert", [list, tuple, iter])
def test_floats_of_any_form_are_converted(convert: Callable[[list[Any]], Any], tmp_path: Path) -> None:
    vectors, query = make_vectors(30, 16, shortest=1), make_query(16)
    expected = TokenIndex.build(tmp_path / "x", vectors).search(query)
    wide = TokenVectors(vectors.flat.astype(np.float64), vectors.offsets.tolist())
    documents = [wide[i].astype(np.float64) if i % 2 else wide[i].tolist() for i in range(len(wide))]
    for name, given in (("wide", wide), ("documents", convert(documents))):
        index = TokenIndex.build(tmp_path / name, given)
        for asked in (query.astype(np.float64), query.tolist(), tuple(map(tuple, query.tolist()))):
            found = index.search(asked)
            assert np.array_equal(found.ids, expected.ids)
            assert np.array_equal(found.scores, expected.scores)
