"""Every method and codec, every kernel table, against the search in NumPy: same documents, same scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from asterism import TokenIndex, TokenSearch, TokenVectors
from asterism.kernels import _native
from tests.conftest import make_query, make_vectors, share_direction
from tests.stored import reference_search

KERNELS = _native.kernel_names()
QUIET = settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    phases=[Phase.generate],  # the reference is slow, so failing cases are not shrunk
)

CODECS = [
    {"bits": 1},
    {"bits": 2},
    {"bits": 4},
    {"bits": 4, "refinement": "float16"},
    {"bits": 2, "levels": "quantile"},
    {"bits": 4, "levels": "quantile"},
    {"bits": 16},
    {"bits": 32},
]
SEARCHES = [
    TokenSearch(method="exact"),
    TokenSearch(method="colbert"),
    TokenSearch(method="colbert", probes=2, candidates=12, refine=6, rescore=4),
    TokenSearch(method="colbert", confidence=0.0),
    TokenSearch(method="xtr", probes=2, imputation="kth", retrieved=9),
    TokenSearch(method="xtr", probes=2, imputation="cluster"),
    TokenSearch(method="xtr", probes=1, imputation="zero"),
    TokenSearch(method="xtr", probes=2, imputation="none"),
]
SEARCHES += [replace(search, length_penalty=penalty) for search in SEARCHES for penalty in (0.03, 2.0)]


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("codec", CODECS, ids=str)
@QUIET
@given(data=st.data())
def test_search_equals_reference(
    codec: dict, kernels: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    d = data.draw(st.sampled_from([1, 3, 16, 31, 64, 128, 130]), "d")
    documents = data.draw(st.integers(1, 150), "documents")
    seed = data.draw(st.integers(0, 1000), "seed")
    k = data.draw(st.integers(1, 12), "k")
    tokens = data.draw(st.integers(1, 20), "query tokens")
    vectors = make_vectors(documents, d, longest=8, seed=seed, shortest=int(documents == 1))
    if len(vectors.flat) == 0:
        return
    query = make_query(d, tokens, seed + 1)
    if data.draw(st.booleans(), "shared direction"):
        vectors, query = TokenVectors(share_direction(vectors.flat), vectors.offsets), share_direction(query)
    threads = data.draw(st.integers(1, 3), "threads")
    eligible = data.draw(st.sampled_from([None, np.arange(documents) % 3 != 0]), "eligible")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASTERISM_KERNELS", kernels)
        folder = tmp_path_factory.mktemp("parity") / "x.tokens"
        index = TokenIndex.build(folder, vectors, **codec, threads=1)
        if data.draw(st.booleans(), "a second segment"):
            index = index.add(make_vectors(documents, d, longest=5, seed=seed + 7))
            eligible = None if eligible is None else np.concatenate([eligible, ~eligible])
        for search in SEARCHES:
            ids, scores = index.search(query, k, replace(search, threads=threads), eligible)
            expected_ids, expected_scores = reference_search(index, query, k, search, eligible)
            np.testing.assert_array_equal(ids, expected_ids, err_msg=str(search))
            np.testing.assert_array_equal(scores, expected_scores, err_msg=str(search))


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_kernels_write_the_same_bytes(codec: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for d in (5, 96, 128):
        vectors = make_vectors(50, d, longest=30)
        folders = []
        for kernels in KERNELS:
            monkeypatch.setenv("ASTERISM_KERNELS", kernels)
            folders.append(TokenIndex.build(tmp_path / f"{kernels}-{d}", vectors, **codec).path)
        files = sorted(path.relative_to(folders[0]) for path in folders[0].rglob("*.npy"))
        assert files
        for file in files:
            assert len({(folder / file).read_bytes() for folder in folders}) == 1, file
