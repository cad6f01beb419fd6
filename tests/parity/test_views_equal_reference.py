"""Searches in an index of a BGE-M3 checkpoint against FlagEmbedding's compute_score, whose combinations are means."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asterism import Document, EncoderSettings, HybridSearch, Retriever, TokenBuild
from asterism.search.fusion import M3

from .references import GOLDEN, LAYOUTS, M3_WEIGHTS, m3_scores
from .references import PAIRS as ALL_PAIRS

TOLERANCE = 1e-4
FULL = [place for place, (_, text) in enumerate(ALL_PAIRS) if text.strip()]  # no search finds an empty passage
PAIRS = [ALL_PAIRS[place] for place in FULL]
TEXTS = list(dict.fromkeys(text for _, text in PAIRS))
Weights = tuple[float, float, float]
CHOSEN: list[Weights] = [M3_WEIGHTS, *dict.fromkeys(protocol.weights for protocol in M3.values())]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return LAYOUTS["bge_m3"](tmp_path_factory.mktemp("models") / "m3")


@pytest.fixture(scope="module")
def made(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Retriever]:
    """The passages of PAIRS in two segments, so that scores come from several."""
    with Retriever.create(
        tmp_path_factory.mktemp("m3") / "x.ast",
        model,
        views=["multi", "dense", "lexical"],
        build=TokenBuild(bits=32),
        encoder=EncoderSettings(precision="float32"),
    ) as retriever:
        retriever.add(Document(f"{i}", text) for i, text in enumerate(TEXTS[:-2]))
        retriever.add(Document(f"{i}", text) for i, text in enumerate(TEXTS[-2:], len(TEXTS) - 2))
        yield retriever


@pytest.fixture(scope="module")
def golden() -> dict[str, np.ndarray]:
    with np.load(GOLDEN / "bge_m3.npz") as stored:
        return {name.removeprefix("score."): stored[name][FULL] for name in stored if name.startswith("score.")}


def ours(retriever: Retriever, method: str, settings: HybridSearch | None = None) -> np.ndarray:
    """(pairs,) the score of each passage in a search; 0 for a passage that shares no term and is no hit."""
    queries = list(dict.fromkeys(query for query, _ in PAIRS))
    found = dict(zip(queries, retriever.search_many(queries, 50, method=method, settings=settings), strict=True))
    scores = {query: {hit.document.text: hit.score for hit in ranking} for query, ranking in found.items()}
    return np.array([scores[query].get(text, 0.0) for query, text in PAIRS])


def mean_of_vectors(retriever: Retriever) -> np.ndarray:
    """(pairs,) numbers of query vectors: their score is the mean over them, ours the sum."""
    counts = {query: len(retriever.encoder.query_spans(query) or ()) for query, _ in PAIRS}
    return np.array([counts[query] for query, _ in PAIRS])


def compare(retriever: Retriever, scores: dict[str, np.ndarray], weights: Weights) -> None:
    """Compares all scores of compute_score for some weights."""
    dense, sparse, multi = weights
    near: Any = {"atol": TOLERANCE, "rtol": 0}
    np.testing.assert_allclose(ours(retriever, "dense"), scores["dense"], **near)
    np.testing.assert_allclose(ours(retriever, "lexical"), scores["sparse"], **near)
    for method in ("exact", "colbert"):
        means = ours(retriever, method) / mean_of_vectors(retriever)
        np.testing.assert_allclose(means, scores["colbert"], **near)
    for fusion in ("linear", *M3):
        for kept, name in (
            ((dense, sparse, 0.0), "sparse+dense"),
            ((dense, sparse, multi), "colbert+sparse+dense"),
        ):
            if sum(kept):
                found = ours(retriever, "hybrid", HybridSearch(fusion=fusion, weights=kept))
                np.testing.assert_allclose(found, scores[name] * sum(kept), **near, err_msg=f"{fusion} {kept}")


def means(golden: dict[str, np.ndarray], weights: Weights) -> dict[str, np.ndarray]:
    """The golden single scores, combined with other weights as compute_score does."""
    dense, sparse, multi = weights
    both = golden["sparse"] * sparse + golden["dense"] * dense
    combined = {"sparse+dense": both / (sparse + dense) if sparse + dense else both}
    combined["colbert+sparse+dense"] = (both + golden["colbert"] * multi) / (sparse + dense + multi)
    return golden | combined


@pytest.mark.parametrize("weights", CHOSEN, ids=str)
def test_golden(made: Retriever, golden: dict[str, np.ndarray], weights: Weights) -> None:
    compare(made, golden if weights == M3_WEIGHTS else means(golden, weights), weights)


@pytest.mark.parametrize("fusion", M3)
def test_the_protocols_as_they_are(made: Retriever, golden: dict[str, np.ndarray], fusion: str) -> None:
    """All passages are candidates here, so that a protocol ranks by its weighted sum."""
    dense, sparse, multi = M3[fusion].weights
    expected = dense * golden["dense"] + sparse * golden["sparse"] + multi * golden["colbert"]
    np.testing.assert_allclose(ours(made, f"hybrid:{fusion}"), expected, atol=TOLERANCE)


def test_every_view_has_scores(golden: dict[str, np.ndarray]) -> None:
    """Comparing zeros would prove nothing."""
    for name in ("dense", "sparse", "colbert"):
        assert np.count_nonzero(golden[name]) >= 4
        assert len(np.unique(golden[name])) >= 5


def test_our_means_are_theirs(golden: dict[str, np.ndarray]) -> None:
    """The tests with other weights rely on this."""
    for name, values in means(golden, M3_WEIGHTS).items():
        np.testing.assert_allclose(values, golden[name], atol=1e-6)


def test_an_explanation_has_their_scores(made: Retriever, golden: dict[str, np.ndarray]) -> None:
    names = {"dense": "dense", "lexical": "sparse", "multi": "colbert"}
    for i, (query, text) in enumerate(PAIRS):
        settings = HybridSearch(fusion="m3-all", weights=M3_WEIGHTS)
        found = made.explain(query, f"{TEXTS.index(text)}", settings=settings)
        assert found.score == pytest.approx(float(golden["colbert+sparse+dense"][i]), abs=TOLERANCE)
        for share in found.shares:
            assert share.score == pytest.approx(float(golden[names[share.view]][i]), abs=TOLERANCE)


@pytest.mark.reference
@pytest.mark.parametrize("weights", [M3_WEIGHTS, (1.0, 0.3, 1.0), (0.15, 0.5, 0.35)], ids=str)
def test_live(made: Retriever, model: Path, weights: Weights) -> None:
    pytest.importorskip("FlagEmbedding")
    compare(made, {name: values[FULL] for name, values in m3_scores(model, weights).items()}, weights)
