"""Measures the profile of an index without judgements: each view looks for documents by sentences taken out of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import blake2b
from heapq import nsmallest
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..collection.collection import Collection
from ..collection.kept_views import Views
from ..documents.document import Document
from ..documents.held_out import take_out_sentence
from ..representations import LexicalWeights, Representations, TokenVectors
from ..search.profile import FEWEST_PAIRS, UNMEASURED, Matrix, Pairs, Profile
from ..settings import View
from ..storage.facts import Facts
from ..storage.faults import damaged
from ..views.lexical.searcher import LexicalSearcher
from .represent import encode_views, needs_model

if TYPE_CHECKING:  # onnxruntime is loaded when the first text is encoded
    from ..encoders.encoder import Encoder

FACT = "profile"
FEWEST, MOST = 16, 128  # documents that are compared
SHARE = 8  # one in so many documents, within these limits: measuring costs a fraction of indexing
OUTGROWN = 2  # measured again at this multiple of the documents
LONGEST = 2000  # characters of a document that are compared
SEED = 7


def read_profile(collection: Collection) -> Profile | None:
    """The stored profile; None if the index was never measured."""
    stored = collection.facts(FACT)
    return Profile.from_facts(Facts(stored, f"{collection.path}: its {FACT}")) if stored else None


def is_outgrown(collection: Collection, documents: int) -> bool:
    """Whether the profile is missing, or is of an index of at most half as many documents."""
    measured = collection.facts(FACT).get("documents")
    return documents >= OUTGROWN * measured if isinstance(measured, int) and measured > 0 else documents > 0


def measure_profile(collection: Collection, views: Views, encoder: Callable[[], Encoder]) -> Profile:
    """The profile of the newest state; a usual one, of 0 pairs, if the documents are too few or too short to tell."""
    snapshot = collection.snapshot()
    unmeasured = replace(UNMEASURED, documents=snapshot.state.documents)
    wanted = min(MOST, max(FEWEST, snapshot.state.documents // SHARE))
    pairs = _take_out_sentences(choose_documents(collection, wanted))
    if len(pairs) < FEWEST_PAIRS:
        return unmeasured
    sentences, rests = [sentence for sentence, _ in pairs], [rest for _, rest in pairs]
    asked = encode_views(sentences, "query", views, views.names, encoder)
    found = encode_views(rests, "document", views, views.names, encoder)
    scores: dict[View, Matrix] = {}
    if asked.dense is not None and found.dense is not None:
        scores["dense"] = asked.dense.astype(np.float64) @ found.dense.T.astype(np.float64)
    if asked.lexical is not None and found.lexical is not None and snapshot.lexical is not None:
        scores["lexical"] = _compare_terms(snapshot.lexical, asked, found.lexical)
    vectors = np.zeros(len(pairs), np.int64)
    if asked.multi is not None and found.multi is not None:
        scores["multi"] = compare_token_vectors(asked.multi, found.multi)
        vectors = np.diff(found.multi.offsets)
    readable = 1.0
    if needs_model(views, views.names):
        readable = float(encoder().measure_readable(rests).mean())
    return Pairs(scores, vectors, snapshot.state.documents, readable).measure() or unmeasured


def choose_documents(collection: Collection, count: int) -> list[Document]:
    """About `count` documents, by a hash of their ids: neither order nor batches of additions change the choice."""
    with collection.reading() as reader:
        ids = reader.read_all_ids()
        chosen = nsmallest(2 * count, ids, key=lambda number: blake2b(ids[number].encode()).digest())
        documents = reader.documents(chosen)
    if len(documents) < len(chosen):
        raise damaged(collection.path, "has a catalog that lists documents it cannot find")
    return [documents[number] for number in chosen if documents[number].text.strip()][:count]


def _take_out_sentences(documents: Sequence[Document]) -> list[tuple[str, str]]:
    """Pairs of a sentence and the rest of its document, of the documents that are long enough."""
    pairs = []
    for document in documents:
        rng = np.random.default_rng([SEED, *blake2b(document.id.encode(), digest_size=8).digest()])
        taken = take_out_sentence(document.text[:LONGEST], rng)
        if taken is not None:
            title = f"{document.title} " if document.title else ""
            pairs.append((taken[0], title + taken[1]))
    return pairs


def _compare_terms(searcher: LexicalSearcher, asked: Representations, found: LexicalWeights) -> Matrix:
    """(queries, documents): a model's weights, or BM25 as in the index, on the scale of a standardised score."""
    queries, bm25 = searcher.prepare(asked), searcher.bm25
    known = np.unique(queries.terms)
    if bm25 is None:
        return spread_terms(queries, known) @ spread_terms(found, known).T
    counts = spread_terms(found, np.unique(found.terms))
    lengths = np.repeat(counts.sum(axis=1), np.diff(found.offsets))
    weighted = LexicalWeights(found.offsets, found.terms, bm25.weigh(found.weights, lengths))
    weights = spread_terms(queries, known)
    largest = np.maximum((bm25.k1 + 1) * weights.sum(axis=1, keepdims=True), 1e-9)
    return np.asarray(weights @ spread_terms(weighted, known).T / np.sqrt(largest))


def spread_terms(entries: LexicalWeights, known: npt.NDArray[np.int64]) -> Matrix:
    """(texts, known terms): the weight of each term, 0 for a term that a text does not have."""
    matrix = np.zeros((len(entries), len(known) + 1))
    rows = np.repeat(np.arange(len(entries)), np.diff(entries.offsets))
    places = np.searchsorted(known, entries.terms)
    there = places < len(known)
    there[there] = known[places[there]] == entries.terms[there]
    matrix[rows[there], places[there]] = entries.weights[there]
    return matrix[:, :-1]


def compare_token_vectors(queries: TokenVectors, documents: TokenVectors) -> Matrix:
    """(queries, documents): the mean over a query's vectors of the best similarity in the document; -1 for none."""
    scores = np.full((len(queries), len(documents)), -1.0)
    flat = np.asarray(queries.flat, np.float32)
    for column in range(len(documents)):
        rows = np.asarray(documents.flat[documents.offsets[column] : documents.offsets[column + 1]], np.float32)
        if len(rows):
            best = np.append((rows @ flat.T).max(axis=0), np.float32(0))
            sums = np.add.reduceat(best.astype(np.float64), queries.offsets[:-1])
            scores[:, column] = sums / np.maximum(np.diff(queries.offsets), 1)
    return scores
