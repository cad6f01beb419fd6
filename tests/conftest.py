"""Fixtures and small seeded corpora that all tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from asterism import (
    Collection,
    LexicalWeights,
    Representations,
    Retriever,
    SearchHits,
    TokenBuild,
    TokenIndex,
    TokenSearch,
    TokenVectors,
    Views,
)
from asterism.collection.collection import Found
from asterism.collection.snapshot import Snapshot
from asterism.errors import DownloadError
from asterism.models.file_hashes import find_cache_folder
from asterism.models.registry import DEFAULT, find_or_fetch_model
from asterism.search.asked import Asked
from asterism.views.eligible import Mask

# How long an example takes says nothing on a busy machine.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

Maker = Callable[..., TokenVectors]


def make_vectors(documents: int = 60, d: int = 16, longest: int = 12, seed: int = 0, shortest: int = 0) -> TokenVectors:
    """Unit vectors around a few topics, so that clustering has something to find; some documents may be empty."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(shortest, longest + 1, documents)
    topics = rng.normal(size=(10, d))
    flat = topics[rng.integers(10, size=lengths.sum())] + 0.7 * rng.normal(size=(lengths.sum(), d))
    flat /= np.linalg.norm(flat, axis=1, keepdims=True) + 1e-9
    return TokenVectors(flat.astype(np.float32), np.concatenate([[0], np.cumsum(lengths)]))


def make_query(d: int = 16, tokens: int = 5, seed: int = 1) -> np.ndarray:
    query = np.random.default_rng(seed).normal(size=(tokens, d))
    return (query / (np.linalg.norm(query, axis=1, keepdims=True) + 1e-9)).astype(np.float32)


def share_direction(rows: np.ndarray, strength: float = 4.0) -> np.ndarray:
    """Rows (n, d) of unit length moved in one direction, the same for all calls, and normalised again."""
    direction = np.random.default_rng(99).normal(size=rows.shape[1])
    moved = rows + strength * direction / np.linalg.norm(direction)
    return (moved / (np.linalg.norm(moved, axis=1, keepdims=True) + 1e-9)).astype(np.float32)


def brute_force(vectors: TokenVectors, query: np.ndarray) -> np.ndarray:
    """(documents,) MaxSim in float64; -inf for a document without vectors."""
    flat = vectors.flat.astype(np.float64)
    similarities = flat @ query.astype(np.float64).T
    spans = zip(vectors.offsets[:-1], vectors.offsets[1:], strict=True)
    return np.array([similarities[a:b].max(axis=0).sum() if b > a else -np.inf for a, b in spans])


def tokens_only(vectors: TokenVectors) -> Representations:
    return Representations(len(vectors), multi=vectors)


ALL_VIEWS = Views(TokenBuild(threads=1), True, "words")


def in_all_views(vectors: TokenVectors) -> Representations:
    """With a dense vector, and its large coordinates as terms, so that every view tells documents apart."""
    means = [vectors[i].sum(axis=0) + np.float32(1e-3) for i in range(len(vectors))]
    dense = np.array([mean / np.linalg.norm(mean) for mean in means], np.float32)
    counts = np.floor(np.maximum(0, 8 * dense)).astype(np.float32)
    texts, terms = np.nonzero(counts)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(texts, minlength=len(vectors)))])
    return Representations(len(vectors), dense, LexicalWeights(offsets, terms, counts[texts, terms]), vectors)


def found_in(collection: Collection, content: Representations, view: str, k: int, where: Any = None) -> Found:
    """The k best by one view, for the first of some texts."""

    def search(state: Snapshot, eligible: Mask | None) -> SearchHits:
        return Asked(state, content, [view], TokenSearch(method="exact"), eligible, 1).search(view, k)

    return collection.find(search, where)[0]


@pytest.fixture
def index(tmp_path: Path) -> TokenIndex:
    return TokenIndex.build(tmp_path / "x.tokens", make_vectors())


@pytest.fixture
def closed_later() -> Iterator[Callable[[Retriever], Retriever]]:
    """Returns its argument, and closes it at the end of the test."""
    with ExitStack() as stack:
        yield stack.enter_context


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Graphs and hashes of the tests' models go to a folder of their own; yields the user's cache."""
    users = find_cache_folder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASTERISM_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("ASTERISM_MODELS", str(users / "models"))
        yield users


@pytest.fixture(scope="session")
def minilm(own_cache: Path) -> Path:
    """The default model's folder, fetched once for all; without a network the tests that need it are skipped."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASTERISM_CACHE", str(own_cache))
        try:
            return find_or_fetch_model(DEFAULT)
        except DownloadError as error:
            pytest.skip(str(error))


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Bytes are named by their length: what is packed can hold the time, and then each worker has other names."""
    return f"{argname}-{len(val)}-bytes" if isinstance(val, bytes) else None
