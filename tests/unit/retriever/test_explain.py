"""What an explanation says is what the search did."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asterism import Retriever, TokenSearch
from tests import layouts
from tests.unit.retriever.all_views import places_are_right
from tests.unit.retriever.documents import FEW, METHODS, QUERIES, Put, words


@pytest.mark.parametrize("method", ["exact", "colbert"])
def test_an_explanation_adds_up_to_the_score(clustered: Retriever, method: Any) -> None:
    assert clustered.info()["centroids"] > 1
    for query in QUERIES:
        hits = clustered.search(query, 8, method=method)
        assert len(hits) == 8
        for hit in hits:
            explanation = clustered.explain(query, hit.id, method=method)
            assert explanation.score == hit.score
            assert sum(match.similarity for match in explanation.matches) == pytest.approx(hit.score, rel=1e-5)
            assert explanation.imputed == 0
            assert places_are_right(explanation) > 0


XTR = [
    TokenSearch(method="xtr", imputation=imputation, **few)
    for imputation in ("kth", "cluster", "zero", "none")
    for few in ({}, {"probes": 4, "retrieved": 50, "cluster_tokens": 30})
]


@pytest.mark.parametrize("settings", XTR, ids=lambda one: f"{one.imputation}-{one.probes}")
def test_an_explanation_of_xtr_shows_what_was_imputed(clustered: Retriever, settings: TokenSearch) -> None:
    imputed = 0
    for query in QUERIES[:2]:
        hits = clustered.search(query, 3, settings=settings)
        assert len(hits) == 3
        for hit in hits:
            explanation = clustered.explain(query, hit.id, settings=settings)
            best = clustered.explain(query, hit.id, method="exact")
            found = [match for match in explanation.matches if not match.imputed]
            total = sum(match.similarity for match in found) + explanation.imputed
            if settings.imputation == "none":
                total *= len(explanation.matches) / len(found)
            assert explanation.score == pytest.approx(total, rel=1e-5)
            assert explanation.score == pytest.approx(hit.score, rel=1e-5)
            for match, exact in zip(explanation.matches, best.matches, strict=True):
                if match.imputed:
                    assert match.begin == -1
                else:
                    assert match.similarity <= exact.similarity
            if settings.imputation in ("zero", "none"):
                assert explanation.imputed == 0
            imputed += len(explanation.matches) - len(found)
            places_are_right(explanation)
    if settings.probes:
        assert imputed > 0


def test_an_explanation_of_xtr_has_the_score_to_the_bit(clustered: Retriever) -> None:
    for settings in XTR:
        for k, where in ((8, None), (8, {"n": {"$lt": 120}}), (150, None)):
            hits = clustered.search(QUERIES[1], k, settings=settings, filter=where)
            assert len(hits) >= 8
            for hit in hits[:8]:
                explanation = clustered.explain(QUERIES[1], hit.id, k=k, settings=settings, filter=where)
                assert explanation.score == hit.score


PENALISED = [replace(settings, length_penalty=0.04) for settings in (TokenSearch(method="exact"), TokenSearch(), *XTR)]


@pytest.mark.parametrize("settings", PENALISED, ids=lambda one: f"{one.method}-{one.imputation}-{one.probes}")
def test_an_explanation_shows_the_length_penalty(clustered: Retriever, settings: TokenSearch) -> None:
    for hit in clustered.search(QUERIES[1], 8, settings=settings):
        explanation = clustered.explain(QUERIES[1], hit.id, k=8, settings=settings)
        plain = clustered.explain(QUERIES[1], hit.id, k=8, settings=replace(settings, length_penalty=0))
        assert explanation.score == hit.score
        vectors = len(clustered.encoder.encode_document([hit.document.full_text]).multi[0])
        taken = len(explanation.matches) * 0.04 * math.log1p(vectors)
        assert explanation.length_penalty == pytest.approx(taken, rel=1e-6)
        assert explanation.score == pytest.approx(plain.score - taken, rel=1e-5)
        assert explanation.to_json()["length_penalty"] == explanation.length_penalty
        assert explanation.matches == plain.matches
        assert (plain.length_penalty, "length_penalty" in plain.to_json()) == (0, False)


def test_explain_in_a_flat_index(few: Retriever) -> None:
    for method in METHODS:
        hits = few.search("the speed of light", 4, method=method)
        assert len(hits) == 3
        for hit in hits:
            explanation = few.explain("the speed of light", hit.id, method=method)
            assert (explanation.score, explanation.imputed) == (hit.score, 0)
    fields = {match.field for match in few.explain("the speed of light", "light", method="colbert").matches}
    assert fields >= {"title", "text"}


def test_a_fixed_number_of_vectors(put: Put, tmp_path: Path) -> None:
    made = put(words(30), model=layouts.constbert(tmp_path / "constbert"))
    assert made.info()["vectors"] == 8 * 30
    ranking = made.search("fox", 30, method="colbert")
    assert len(ranking) == 30
    explanation = made.explain("fox", ranking.ids[0], method="colbert")
    assert explanation.score == ranking[0].score
    assert explanation.matches
    assert all((match.token, match.field, match.begin) == ("", "", -1) for match in explanation.matches)
    with Retriever.open(made.path) as opened:
        opened.update(FEW)
        assert opened.info()["vectors"] == 8 * 34
