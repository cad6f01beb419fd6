"""Measures the profile of an index without judgements: each view looks for documents by sentences taken out of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from hashlib import blake2b
from heapq import nsmallest
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..collection.collection import Collection
from ..collection.kept_views import Views
from ..collection.snapshot import Snapshot
from ..collection.state import State
from ..documents.document import Document
from ..documents.held_out import take_out_sentence
from ..representations import LexicalWeights, Representations, TokenVectors
from ..search.asked import Asked
from ..search.profile import FEWEST_PAIRS, UNMEASURED, Matrix, Pairs, Profile, Vector
from ..settings import TokenSearch, View, count_threads
from ..storage.facts import Facts
from ..storage.faults import damaged
from ..views.tokens.searcher import LONGEST_QUERY
from .represent import encode_views, needs_model

if TYPE_CHECKING:  # onnxruntime is loaded when the first text is encoded
    from ..encoders.encoder import Encoder

FACT = "profile"
FEWEST, USUAL, MOST = 16, 128, 512  # documents that are compared
MOST_CHARACTERS = 1_000_000  # of all compared documents, if these are more than FEWEST: long ones take long to encode
AT_ONCE = 1024  # vectors of a document that are compared with all queries at once: a book has millions
SEED = 7


def read_profile(collection: Collection) -> Profile | None:
    """The stored profile; None if the index was never measured."""
    stored = collection.facts(FACT)
    return Profile.from_facts(Facts(stored, f"{collection.path}: its {FACT}")) if stored else None


def is_outgrown(stored: Mapping[str, Any], state: State) -> bool:
    """Whether the stored profile is missing, or as many documents were added since as there were, or replaced old ones.

    A profile of an earlier version does not know how many had been added.
    """
    documents, added = (one if type(one := stored.get(name)) is int else 0 for name in ("documents", "added"))
    if documents <= 0:
        return state.documents > 0
    return (state.next_number - added if added else state.documents - documents) >= documents


def measure_profile(collection: Collection, views: Views, encoder: Callable[[], Encoder]) -> Profile:
    """The profile of the newest state; a usual one, of 0 pairs, if the documents are too few or too short to tell."""
    snapshot = collection.snapshot()
    documents, added = snapshot.state.documents, snapshot.state.next_number
    unmeasured = replace(UNMEASURED, documents=documents, added=added)
    taken = take_out_sentences(choose_documents(collection, count_documents(documents)))
    taken, queries = encode_sentences(taken, views, encoder)
    if len(taken) < FEWEST_PAIRS:
        return unmeasured
    rests = [one.rest for one in taken]
    asked = Asked(snapshot, queries, views.names, TokenSearch(), snapshot.kept, count_threads(0))
    pairs = compare(asked, queries, encode_views(rests, "document", views, views.names, encoder))
    if not pairs.suffice:
        return unmeasured
    rivals = find_rivals(snapshot, asked, np.array([one.number for one in taken]))
    readable = 1.0
    if needs_model(views, views.names):
        readable = float(encoder().measure_readable(rests).mean())
    return replace(pairs.measure(rivals, readable), documents=documents, added=added)


def count_documents(documents: int) -> int:
    """How many of so many are compared: half of a small index; of a large one, where sentences seldom find, more."""
    return max(FEWEST, min(documents // 2, max(USUAL, min(documents // 64, MOST))))


@dataclass(frozen=True)
class TakenOut:
    """A sentence, the rest of its document, and the number of the document."""

    sentence: str
    rest: str
    number: int


def choose_documents(collection: Collection, count: int) -> dict[int, Document]:
    """About `count` documents by number, by a hash of their ids: neither order nor batches change the choice."""
    with collection.reading() as reader:
        ids = reader.read_all_ids()
        chosen = nsmallest(2 * count, ids, key=lambda number: blake2b(ids[number].encode()).digest())
        documents = reader.documents(chosen)
    if len(documents) < len(chosen):
        raise damaged(collection.path, "has a catalog that lists documents it cannot find")
    found: dict[int, Document] = {}
    long: dict[int, Document] = {}  # beyond the limit: one book must not displace a hundred short documents
    characters = 0
    for number in chosen:
        document = documents[number]
        if len(found) >= count or not document.text.strip():
            continue
        fits = characters + len(document.text) <= MOST_CHARACTERS
        (found if fits else long)[number] = document
        characters += len(document.text) if fits else 0
    return found | dict(islice(long.items(), max(0, FEWEST - len(found))))


def take_out_sentences(documents: Mapping[int, Document]) -> list[TakenOut]:
    """One of each document that is long enough."""
    found = []
    for number, document in documents.items():
        rng = np.random.default_rng([SEED, *blake2b(document.id.encode(), digest_size=8).digest()])
        taken = take_out_sentence(document.text, rng)
        if taken is not None:
            title = f"{document.title} " if document.title else ""
            found.append(TakenOut(taken[0], title + taken[1], number))
    return found


def encode_sentences(
    taken: list[TakenOut], views: Views, encoder: Callable[[], Encoder]
) -> tuple[list[TakenOut], Representations]:
    """The sentences, without those that have too many token vectors for a query, as a row of rare characters can."""
    queries = encode_views([one.sentence for one in taken], "query", views, views.names, encoder)
    if queries.multi is None:
        return taken, queries
    counts = np.diff(queries.multi.offsets)
    usable = [one for one, count in zip(taken, counts, strict=True) if 1 <= count <= LONGEST_QUERY]
    return (taken, queries) if len(usable) == len(taken) else encode_sentences(usable, views, encoder)


def compare(asked: Asked, queries: Representations, rests: Representations) -> Pairs:
    """Every sentence with the rest of every document, by each view."""
    scores: dict[View, Matrix] = {}
    if queries.dense is not None and rests.dense is not None:
        scores["dense"] = queries.dense.astype(np.float64) @ rests.dense.T.astype(np.float64)
    if rests.lexical is not None and "lexical" in asked.searchers:
        scores["lexical"] = compare_terms(asked, rests.lexical)
    if queries.multi is not None and rests.multi is not None:
        scores["multi"] = compare_token_vectors(queries.multi, rests.multi)
    return Pairs(scores)


def find_rivals(snapshot: Snapshot, asked: Asked, own: npt.NDArray[np.int64]) -> dict[View, Vector]:
    """(n,) by view: the best score that a document of the index other than the sentence's own has for it."""
    found: dict[View, Vector] = {}
    for view in asked.searchers:
        hits = asked.search(view, 2)
        numbers = np.where(hits.ids >= 0, snapshot.numbers[hits.ids], -1)
        others = np.where((numbers >= 0) & (numbers != own[:, None]), hits.scores, -np.inf)
        found[view] = others.max(axis=1, initial=-np.inf).astype(np.float64) / find_scales(asked, view)
    return found


def find_scales(asked: Asked, view: View) -> Vector:
    """(n,) what a view's scores are divided by before they are standardised."""
    if view == "multi":
        return np.array([len(query) for query in asked.queries[view]], np.float64)
    if view == "lexical" and asked.counted:
        return np.array([math.sqrt(asked.find_largest_lexical(query)) for query in range(asked.count)])
    return np.ones(asked.count)


def compare_terms(asked: Asked, rests: LexicalWeights) -> Matrix:
    """(queries, documents): a model's weights, or BM25 as in the index."""
    queries = asked.queries["lexical"]
    known = np.unique(queries.terms)
    weights = spread_terms(queries, known)
    if asked.bm25 is None:
        return weights @ spread_terms(rests, known).T
    sums = np.append(0.0, np.cumsum(rests.weights, dtype=np.float64))
    lengths = np.repeat(np.diff(sums[rests.offsets]), np.diff(rests.offsets))
    weighted = LexicalWeights(rests.offsets, rests.terms, asked.bm25.weigh(rests.weights, lengths))
    return np.asarray(weights @ spread_terms(weighted, known).T / find_scales(asked, "lexical")[:, None])


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
        rows = documents.flat[documents.offsets[column] : documents.offsets[column + 1]]
        if len(rows):
            parts = (np.asarray(rows[begin : begin + AT_ONCE], np.float32) for begin in range(0, len(rows), AT_ONCE))
            best = reduce(np.maximum, ((part @ flat.T).max(axis=0) for part in parts))
            sums = np.add.reduceat(np.append(best.astype(np.float64), 0), queries.offsets[:-1])
            scores[:, column] = sums / np.maximum(np.diff(queries.offsets), 1)
    return scores
