"""Small collections whose views are plain numbers, so that every score can be computed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from asterism import (
    Collection,
    Document,
    HybridSearch,
    LexicalWeights,
    Representations,
    SearchHits,
    TermCounting,
    TokenBuild,
    TokenSearch,
    TokenVectors,
    Views,
)
from asterism.collection.snapshot import Snapshot
from asterism.search.examine import Seen, examine
from asterism.search.fusion import find_candidates
from asterism.search.plan import SearchPlan
from asterism.search.profile import UNMEASURED, Profile
from asterism.views.eligible import Mask

D = 4
ALL = ("multi", "dense", "lexical")


def axis(*weights: float) -> np.ndarray:
    """(D,) of these coordinates, the rest 0."""
    return np.array([*weights, *[0.0] * (D - len(weights))], np.float32)


@dataclass
class Text:
    """What a text is in each view: tokens (n, D), dense (D,), term -> weight or count; what the model reads of it."""

    id: str = "query"
    dense: np.ndarray = field(default_factory=axis)
    terms: dict[int, float] = field(default_factory=dict)
    tokens: np.ndarray = field(default_factory=lambda: np.zeros((0, D), np.float32))
    kind: int = 0
    readable: float = 1.0


def content_of(texts: Sequence[Text], views: Sequence[str] = ALL) -> Representations:
    rows = [sorted(text.terms.items()) for text in texts]
    flat = [pair for row in rows for pair in row]
    offsets = np.cumsum([0] + [len(row) for row in rows])
    lexical = LexicalWeights(offsets, [term for term, _ in flat], [weight for _, weight in flat])
    return Representations(
        len(texts),
        np.stack([text.dense for text in texts]) if "dense" in views else None,
        lexical if "lexical" in views else None,
        TokenVectors.from_documents([text.tokens for text in texts]) if "multi" in views else None,
        readable=np.array([text.readable for text in texts]),
    )


def collection_of(
    path: Path,
    *batches: Sequence[Text],
    counted: bool = False,
    views: Sequence[str] = ALL,
    counting: TermCounting | None = None,
) -> Collection:
    """A segment for each batch; terms are a model's weights, or counts."""
    terms: Any = None if "lexical" not in views else "words" if counted else "model"
    kept = Views(TokenBuild(bits=32, threads=1) if "multi" in views else None, "dense" in views, terms, 0, counting)
    made = Collection.create(path, kept, {})
    for batch in batches:
        with made.writing() as writer:
            writer.add(
                [Document(text.id, "text", metadata={"kind": text.kind}) for text in batch], content_of(batch, views)
            )
    return made


def plan_of(
    method: str | None, settings: Any = None, views: Sequence[str] = ALL, profile: Profile = UNMEASURED
) -> SearchPlan:
    return SearchPlan.from_request(method, settings, views, HybridSearch, lambda: profile)


def found_in(
    collection: Collection, query: Text, plan: SearchPlan, k: int = 10, where: Any = None
) -> list[tuple[str, float]]:
    """Ids and scores."""
    content = content_of([query], collection.views().names)
    hits = collection.find(lambda state, eligible: plan.search(state, content, k, eligible, 1), where)[0]
    return [(document.id, score) for document, score in hits.documents]


def candidates_in(
    collection: Collection, query: Text, settings: HybridSearch, k: int = 1, where: Any = None
) -> set[str]:
    content = content_of([query], collection.views().names)

    def look(state: Snapshot, eligible: Mask | None) -> SearchHits:
        plan = SearchPlan.from_request(
            "hybrid", replace(settings, tokens=TokenSearch(method="exact")), ALL, HybridSearch
        )
        asked = plan.ask(state, content, eligible, 1)
        (candidates,) = find_candidates(asked, k, settings)
        found = candidates.documents
        assert (np.diff(found) > 0).all()
        return SearchHits.from_rows([(found, np.zeros(len(found), np.float32))])

    return {document.id for document, _ in collection.find(look, where)[0].documents}


def seen_in(collection: Collection, query: Text, id: str, plan: SearchPlan, k: int = 10, where: Any = None) -> Seen:
    content = content_of([query], collection.views().names)
    return collection.look_at(
        id, lambda state, at, eligible: examine(plan.ask(state, content, eligible, 1), at, plan, k), where
    )[1]
