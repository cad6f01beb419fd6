"""Every method, over several segments, with deletions and a filter, against brute force."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asterism import (
    Collection,
    Document,
    HybridSearch,
    LexicalWeights,
    Representations,
    TermCounting,
    TokenBuild,
    TokenVectors,
    Views,
)
from asterism.search.fusion import M3
from asterism.search.plan import SearchPlan

D, VOCABULARY = 8, 12
SINGLE = ["exact", "colbert", "xtr", "dense", "lexical"]
FUSIONS = ["linear", "rrf", *M3]
K1, B = TermCounting().k1, TermCounting().b


@dataclass
class Stored:
    """A document in all views; terms (VOCABULARY,) are weights or counts."""

    id: str
    tokens: np.ndarray
    dense: np.ndarray
    terms: np.ndarray
    kind: int
    alive: bool = True


def unit(rng: np.random.Generator, rows: int) -> np.ndarray:
    made = rng.normal(size=(rows, D))
    halves = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float16)  # as they are stored
    return halves.astype(np.float32)


def content_of(documents: list[Stored]) -> Representations:
    terms = np.stack([document.terms for document in documents])
    rows, columns = np.nonzero(terms)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(documents)))])
    return Representations(
        len(documents),
        np.stack([document.dense for document in documents]),
        LexicalWeights(offsets, columns, terms[rows, columns]),
        TokenVectors.from_documents([document.tokens for document in documents]),
    )


def one(rng: np.random.Generator, id: str, counted: bool) -> Stored:
    counts = rng.integers(0, 4, VOCABULARY) * rng.integers(0, 2, VOCABULARY)
    terms = counts if counted else np.round(rng.random(VOCABULARY) * (counts > 0), 2)
    return Stored(id, unit(rng, rng.integers(1, 4)), unit(rng, 1)[0], terms.astype(np.float32), int(rng.integers(3)))


class Truth:
    """The scores of all documents for a query, by each view."""

    def __init__(self, documents: list[Stored], query: Stored, counted: bool) -> None:
        self.tokens = len(query.tokens)
        self.multi = np.array([(one.tokens @ query.tokens.T).max(axis=0).sum() for one in documents])
        self.dense = np.array([one.dense @ query.dense for one in documents])
        weights = query.terms.astype(np.float64)
        values = np.stack([one.terms for one in documents]).astype(np.float64)
        self.bound = 1.0
        if counted:
            living = values[[one.alive for one in documents]]
            frequencies = (living > 0).sum(axis=0)
            weights = weights * np.log(1 + (len(living) - frequencies + 0.5) / (frequencies + 0.5))
            lengths = values.sum(axis=1) / max(1.0, living.sum() / max(1, len(living)))
            values = values * (K1 + 1) / (values + (K1 * (1 - B + B * lengths))[:, None])
            self.bound = max(1e-9, (K1 + 1) * weights.sum())
        self.lexical = values @ weights

    def scores(self, method: str, fusion: str, found: np.ndarray) -> np.ndarray:
        if method != "hybrid":
            return {"dense": self.dense, "lexical": self.lexical}.get(method, self.multi)[found]
        views = {"dense": self.dense[found], "lexical": self.lexical[found], "multi": self.multi[found] / self.tokens}
        if fusion == "rrf":
            return sum(1 / (60 + np.array([1 + (v > x + 1e-7).sum() for x in v])) for v in views.values())
        if fusion == "linear":
            lexical = views["lexical"] / self.bound if self.bound != 1 else 0.3 * views["lexical"]
            return views["dense"] + lexical + views["multi"]
        return sum(w * views[v] for w, v in zip(M3[fusion].weights, ("dense", "lexical", "multi"), strict=True))


@pytest.mark.parametrize("counted", [True, False], ids=["BM25", "weights"])
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(seed=st.integers(0, 10**6), sizes=st.lists(st.integers(1, 7), min_size=1, max_size=5), k=st.integers(1, 40))
def test_every_method_equals_brute_force(counted: bool, seed: int, sizes: list[int], k: int) -> None:
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        views = Views(TokenBuild(threads=1), True, "words" if counted else "model")
        collection = Collection.create(Path(folder) / "x", views, {})
        stored: list[Stored] = []
        for size in sizes:
            batch = [one(rng, f"d{len(stored) + i}", counted) for i in range(size)]
            with collection.writing() as writer:
                writer.add([Document(x.id, "text", metadata={"kind": x.kind}) for x in batch], content_of(batch))
            stored += batch
        for document in rng.choice(stored, len(stored) // 4, replace=False):
            document.alive = False
        with collection.writing() as writer:
            writer.delete([document.id for document in stored if not document.alive])
        for where in (None, {"kind": {"$in": [0, 2]}}):
            check(collection, stored, one(rng, "query", counted), k, where, counted)
        with collection.writing() as writer:
            writer.compact()
        living = [document for document in stored if document.alive]
        check(collection, living, one(rng, "query", counted), k, {"kind": 1}, counted)
        collection.close()


def check(
    collection: Collection, stored: list[Stored], query: Stored, k: int, where: dict | None, counted: bool
) -> None:
    kinds = {None: {0, 1, 2}, "$in": {0, 2}}.get(None if where is None else "$in", set())
    if where == {"kind": 1}:
        kinds = {1}
    eligible = np.array([document.alive and document.kind in kinds for document in stored])
    truth, content = Truth(stored, query, counted), content_of([query])
    names = [document.id for document in stored]
    for method in [*SINGLE, *(f"hybrid:{fusion}" for fusion in FUSIONS)]:
        plan = SearchPlan.from_request(method, None, ("multi", "dense", "lexical"), HybridSearch)
        hits = collection.find(lambda state, eligible, plan=plan: plan.search(state, content, k, eligible, 2), where)[
            0
        ].documents
        found = np.flatnonzero(eligible & (truth.lexical > 0)) if method == "lexical" else np.flatnonzero(eligible)
        scores = truth.scores(plan.method, plan.hybrid.fusion, found)
        tolerance = 2e-4
        best = np.sort(scores)[::-1][:k]
        assert len(hits) == len(best), (method, k)
        np.testing.assert_allclose([score for _, score in hits], best, atol=tolerance, err_msg=method)
        by_id = dict(zip([names[i] for i in found], scores, strict=True))
        for document, score in hits:  # of documents that share a place, each has its own score
            assert math.isclose(by_id[document.id], score, abs_tol=tolerance), (method, document.id)
