"""Every method of search, in an index with all views."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from asterism import Document, Retriever, TokenBuild
from asterism.collection.policy import Policy
from tests import layouts
from tests.unit.retriever.all_views import FEW, METHODS, QUERY, places_are_right


def with_common_words(made: Retriever, ids: list[str]) -> list[str]:
    """The documents that QUERY finds by words, according to explain; the model gives some words no weight."""
    return [id for id in ids if made.explain(QUERY, id, method="lexical").score > 0]


@pytest.mark.parametrize("method", METHODS)
def test_explanations_add_up(full: Retriever, method: str) -> None:
    for where in (None, {"year": 2020}):
        hits = full.search(QUERY, 3, method=method, filter=where)
        assert hits
        for hit in hits:
            found = full.explain(QUERY, hit.id, k=3, method=method, filter=where)
            assert found.score == pytest.approx(hit.score, abs=1e-6)
            assert found.method == method.partition(":")[0]
            places_are_right(found)
            if method.startswith("hybrid"):
                assert sum(share.share for share in found.shares) == pytest.approx(hit.score, abs=1e-6)
                assert found.matches == ()
                for share in found.shares:
                    total = sum(match.similarity for match in share.matches)
                    if share.view == "lexical":
                        assert total == pytest.approx(share.score, abs=1e-5)
                    if share.view == "multi":
                        assert total / len(share.matches) == pytest.approx(share.score, abs=1e-5)
            elif method != "dense":
                assert sum(match.similarity for match in found.matches) == pytest.approx(hit.score, abs=1e-5)


@pytest.mark.parametrize("method", [method for method in METHODS if not method.startswith("hybrid:m3")])
def test_more_than_there_are(full: Retriever, method: str) -> None:
    """A lexical search finds the documents that share a word with the query, the others find all that have words."""
    expected = [document.id for document in FEW if document.full_text]
    if method == "lexical":
        expected = with_common_words(full, expected)
        assert 0 < len(expected) < len(FEW)
    assert sorted(full.search(QUERY, 10**9, method=method).ids) == sorted(expected)


def test_codes_and_graphs(m3: Path, tmp_path: Path) -> None:
    """A large index: token vectors as codes with a finer copy, dense vectors with a graph."""
    policy, build = Policy(flat_tokens=300, graph_documents=20), TokenBuild(refinement="float16")
    rng = np.random.default_rng(0)
    documents = [
        Document(f"d{i}", " ".join(rng.choice(layouts.WORDS, 12)), "fox" * (i % 2), {"n": i}) for i in range(80)
    ]
    with Retriever.create(tmp_path / "x.ast", m3, build=build, policy=policy) as made:
        made.add(documents[:60])
        made.add(documents[60:])
        made.delete(["d3", "d70"])
        assert made.info()["centroids"] > 1
        assert list(made.path.rglob("neighbours.npy"))
        for method in METHODS:
            for where, most in ((None, 80), ({"n": {"$lt": 30}}, 30), ({"n": {"$lt": 5}}, 5)):
                ranking = made.search(QUERY, 80, method=method, filter=where)
                kept = [f"d{i}" for i in range(most) if i not in (3, 70)]
                assert sorted(ranking.ids) == sorted(with_common_words(made, kept) if method == "lexical" else kept)
                for hit in ranking[:3]:
                    found = made.explain(QUERY, hit.id, k=80, method=method, filter=where)
                    assert found.score == pytest.approx(hit.score, abs=1e-5)
                    for share in found.shares:
                        if share.view == "multi":
                            total = sum(match.similarity for match in share.matches)
                            assert total / len(share.matches) == pytest.approx(share.score, abs=1e-5)
            many = made.search_many([QUERY, "a", "fox"], 5, method=method, threads=2)
            assert many == [made.search(query, 5, method=method) for query in (QUERY, "a", "fox")]
