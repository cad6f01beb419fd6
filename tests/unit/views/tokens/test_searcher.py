"""Similarities of single tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asterism import HybridSearch, TokenSearch, TokenVectors
from asterism.collection.collection import Collection
from asterism.documents.document import Document
from asterism.search.examine import SeenTokens, examine
from asterism.search.plan import SearchPlan
from asterism.search.token_answers import find_maxsim_answers, find_xtr_answers, sum_answers
from tests.conftest import make_query, make_vectors, tokens_only
from tests.unit.views.tokens.coded import CODECS, collection_of, name_of, vectors_for


def seen_of(collection: Collection, query: np.ndarray, document: Document, settings: TokenSearch, k: int) -> SeenTokens:
    plan = SearchPlan.from_request(None, settings, ("multi",), HybridSearch)
    content = tokens_only(TokenVectors(query, [0, len(query)]))
    found, seen = collection.look_at(
        document.id, lambda state, at, eligible: examine(plan.ask(state, content, eligible, 1), at, plan, k)
    )
    assert found == document
    assert seen.tokens is not None
    return seen.tokens


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("build", CODECS, ids=name_of)
def test_single_similarities_add_up_to_the_score_of_a_search(build: dict[str, Any], parts: int, tmp_path: Path) -> None:
    """Bit for bit, for every method."""
    vectors = vectors_for(build)
    collection = collection_of(tmp_path / "x", vectors, build, parts)
    for tokens, method, penalty in [
        *[(1, "exact", 0), (9, "exact", 0.05), (9, "colbert", 0), (9, "colbert", 0.05)],
        *[(1, "xtr", 0.05), (9, "xtr", 0)],
    ]:
        query = make_query(24, tokens, tokens)
        settings = TokenSearch(method=method, retrieved=30, length_penalty=penalty)
        hits = collection.search(query, len(vectors), settings).documents
        assert len(hits) == len(vectors)
        for document, score in hits:
            matched = seen_of(collection, query, document, settings, len(vectors))
            assert matched.similarities.shape == (len(vectors[int(document.id)]), tokens)
            assert matched.centroids.shape == (len(vectors[int(document.id)]),)
            if not len(matched.similarities):
                assert score == -np.inf
            elif method == "xtr":
                answers = find_xtr_answers(
                    matched.similarities, matched.centroids, matched.imputed, matched.probed, settings.imputation
                )
                assert sum_answers(answers, settings, matched.imputed, matched.length_penalty) == score
            else:
                answers = find_maxsim_answers(matched.similarities)
                assert sum_answers(answers, settings, matched.imputed, matched.length_penalty) == score
            taken = tokens * penalty * np.log1p(len(matched.similarities))
            assert matched.length_penalty == pytest.approx(taken, rel=1e-6)


def test_similarities_while_flat_are_those_of_the_vectors(tmp_path: Path) -> None:
    vectors = make_vectors(5, 24, longest=3, seed=1, shortest=2)
    collection = collection_of(tmp_path / "x", vectors, {})
    query = make_query(24, 4)
    searcher = collection.snapshot().multi
    np.testing.assert_allclose(searcher.explain(query, 3), vectors[3].astype(np.float16) @ query.T, atol=1e-6)
    assert not searcher.read_centroids(3).any()
