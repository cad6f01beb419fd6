"""Documents, methods and checks for indexes with several views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from asterism import Document, Explanation, Retriever
from asterism.search.fusion import M3

METHODS = ["exact", "colbert", "xtr", "dense", "lexical", "hybrid", "hybrid:rrf", *(f"hybrid:{name}" for name in M3)]
QUERY = "how to read the quick fox"
FEW = [
    Document("fox", "The quick brown fox jumps over the lazy dog.", metadata={"year": 1999}),
    Document("light", "Who first measured the speed of light?", "How Speed", {"year": 2001}),
    Document("python", "Run a function to read a file every few seconds.", "Python", {"year": 2020}),
    Document("none", "", metadata={"year": 2020}),
    Document("title", "", "the fox"),
]
PutWith = Callable[..., Retriever]


def scores(made: Retriever, method: str, **options: Any) -> dict[str, Any]:
    return {hit.id: pytest.approx(hit.score, abs=1e-5) for hit in made.search(QUERY, 50, method=method, **options)}


def places_are_right(explanation: Explanation) -> int:
    """Checks every place, of the query and of the document; returns how many there were in the document."""
    document, count = explanation.document, 0
    for match in [*explanation.matches, *(match for share in explanation.shares for match in share.matches)]:
        if match.query_begin >= 0:
            asked = explanation.query[match.query_begin : match.query_end]
            assert asked.lower() == match.query_token.removeprefix("##").removeprefix("▁").lower()
        if match.begin >= 0:
            written = {"title": document.title, "text": document.text}[match.field][match.begin : match.end]
            assert written.lower() == match.token.removeprefix("##").removeprefix("▁").lower()
            count += 1
        else:
            assert (match.field, match.end) == ("", -1)
    return count
