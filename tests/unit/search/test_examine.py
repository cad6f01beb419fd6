"""One document under a plan: its shares add up to what the search gave it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any, get_args

import numpy as np
import pytest

from asterism import Collection, HybridSearch
from asterism.search.fusion import choose_protocol
from asterism.settings import Fusion

from .by_hand import D, Text, collection_of, found_in, plan_of, seen_in

FUSIONS = get_args(Fusion)
SETTINGS = [
    *(HybridSearch(fusion=fusion) for fusion in FUSIONS),
    *(HybridSearch(fusion=fusion, weights=(0.3, 0.6, 0.1), depth=3) for fusion in FUSIONS),
]


def text(rng: np.random.Generator, id: str, counted: bool, tokens: int) -> Text:
    def unit(rows: int) -> np.ndarray:
        made = rng.normal(size=(rows, D))
        return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)

    terms = rng.choice(12, rng.integers(0, 5), replace=False).tolist()
    weights = {term: float(rng.integers(1, 4) if counted else rng.random()) for term in terms}
    return Text(id, unit(1)[0], weights, unit(tokens), int(rng.integers(2)))


@pytest.fixture(scope="module", params=[True, False], ids=["BM25", "weights"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, ...]]:
    """Twenty documents in two segments, some without words or token vectors, two of them deleted; and a query."""
    rng = np.random.default_rng(1)
    texts = [text(rng, f"{i}", request.param, int(rng.integers(0, 4))) for i in range(20)]
    query = text(rng, "query", request.param, 3)
    query.terms |= {1: 1.0, 2: 1.0}
    folder = tmp_path_factory.mktemp("examined") / "x"
    with closing(collection_of(folder, texts[:12], texts[12:], counted=request.param)) as collection:
        with collection.writing() as writer:
            writer.delete(["3", "15"])
        yield collection, query, request.param


def named(settings: HybridSearch) -> str:
    return f"{settings.fusion}-{settings.depth}"


@pytest.mark.parametrize("where", [None, {"kind": 1}], ids=["all", "filtered"])
@pytest.mark.parametrize("settings", SETTINGS, ids=named)
def test_shares_add_up_to_the_score(made: Any, settings: HybridSearch, where: Any) -> None:
    collection, query, counted = made
    plan = plan_of("hybrid", settings)
    weights = dict(zip(("dense", "lexical", "multi"), choose_protocol(settings, counted).weights, strict=True))
    for k in (2, 50):
        found = found_in(collection, query, plan, k, where)
        assert found
        for id, score in found:
            seen = seen_in(collection, query, id, plan, k, where)
            assert sum(seen.shares.values()) == pytest.approx(score, abs=1e-6)
            assert set(seen.shares) == set(seen.scores) == {view for view, weight in weights.items() if weight}
            assert (seen.terms is not None, seen.tokens is not None) == (weights["lexical"] > 0, weights["multi"] > 0)


@pytest.mark.parametrize("settings", SETTINGS, ids=named)
def test_scores_are_those_of_the_views_alone(made: Any, settings: HybridSearch) -> None:
    collection, query, _ = made
    alone = {
        view: dict(found_in(collection, query, plan_of(method), 50))
        for view, method in (("dense", "dense"), ("lexical", "lexical"), ("multi", "exact"))
    }
    assert len(alone["dense"]) == 18
    for id in alone["dense"]:
        scores = seen_in(collection, query, id, plan_of("hybrid", settings), 50).scores
        expected = {"dense": alone["dense"][id], "lexical": alone["lexical"].get(id, 0.0)}
        expected["multi"] = max(-1.0, alone["multi"].get(id, -np.inf) / 3)  # the mean over three query vectors
        assert scores == pytest.approx({view: expected[view] for view in scores}, abs=1e-6)


def test_a_document_that_no_view_would_take(made: Any) -> None:
    """It is explained as an additional candidate."""
    collection, query, _ = made
    plan = plan_of("hybrid", HybridSearch(fusion="m3-all", depth=1))
    first = found_in(collection, query, plan, 1)[0][0]
    last = found_in(collection, query, plan_of("dense"), 50)[-1][0]
    assert last != first
    assert sum(seen_in(collection, query, last, plan, 1).shares.values()) == pytest.approx(
        dict(found_in(collection, query, plan_of("hybrid:m3-all"), 50))[last], abs=1e-6
    )


@pytest.mark.parametrize("method", ["dense", "lexical", "exact", "colbert"])
def test_one_view(made: Any, method: str) -> None:
    collection, query, _ = made
    plan = plan_of(method)
    found = found_in(collection, query, plan, 50)
    assert found
    for id, score in found:
        seen = seen_in(collection, query, id, plan, 50)
        assert seen.shares == seen.scores == {plan.view: pytest.approx(score, abs=1e-6)}
        assert (seen.terms is not None, seen.tokens is not None) == (method == "lexical", plan.view == "multi")


def test_terms_add_up(made: Any) -> None:
    collection, query, _ = made
    found = found_in(collection, query, plan_of("lexical"), 50)
    assert found
    for id, score in found:
        terms = seen_in(collection, query, id, plan_of("lexical")).terms
        assert terms is not None
        assert terms.terms.tolist() == sorted(query.terms)
        assert terms.added.sum() == pytest.approx(score, rel=1e-6)


def test_an_only_document_has_the_best_ranks(made: Any, tmp_path: Any) -> None:
    """Rank 1 in every view."""
    _, query, counted = made
    with closing(collection_of(tmp_path / "x", [query], counted=counted)) as alone:
        assert isinstance(alone, Collection)
        seen = seen_in(alone, query, "query", plan_of("hybrid:rrf"))
        assert seen.shares == pytest.approx({"dense": 1 / 61, "lexical": 1 / 61, "multi": 1 / 61}, rel=1e-6)
