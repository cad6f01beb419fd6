"""Why a document has its score."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..documents.document import Document


@dataclass(frozen=True)
class Match:
    """A query token, or term, and the document token that answered it.

    Offsets are in characters, the end not included: of the query, and of the document's `field` ("title" or "text").
    They are -1 for tokens that stand for no text ([CLS], markers) and if nothing was found. `imputed`: the similarity
    belongs to no token, XTR puts it in place of one that was not retrieved. For a term, the place is its first one in
    the document and the similarity is what it adds to the lexical score.
    """

    query_token: str
    query_begin: int
    query_end: int
    token: str
    field: str
    begin: int
    end: int
    similarity: float
    imputed: bool


@dataclass(frozen=True)
class Share:
    """One view's part of a hybrid score: its own score, what that adds to the whole, and its matches."""

    view: str
    score: float
    share: float
    matches: tuple[Match, ...]

    def to_json(self) -> dict[str, Any]:
        """The object `share` of schema.json."""
        found = {"view": self.view, "score": self.score, "share": self.share}
        return {**found, "matches": _matches_to_json(self.matches)}


@dataclass(frozen=True)
class Explanation:
    """Why a document has its score: the sum of the matches' similarities, or of the shares of a hybrid search.

    A dense score has no matches. `length_penalty` is subtracted from the sum of the matches.
    """

    query: str
    method: str
    document: Document
    score: float
    matches: tuple[Match, ...]
    shares: tuple[Share, ...] = ()
    length_penalty: float = 0.0

    @property
    def imputed(self) -> float:
        """The sum of the imputed similarities."""
        return sum(match.similarity for match in self.matches if match.imputed)

    def to_json(self) -> dict[str, Any]:
        """The object `explanation` of schema.json."""
        asked = {"query": self.query, "method": self.method, "score": self.score}
        return {**asked, **document_to_json(self.document), **self.reasons_to_json()}

    def reasons_to_json(self) -> dict[str, Any]:
        """What an explained hit has too: matches, the penalty if there is one, and the shares of a hybrid score."""
        found: dict[str, Any] = {"matches": _matches_to_json(self.matches), "imputed": self.imputed}
        if self.length_penalty:
            found["length_penalty"] = self.length_penalty
        return found | ({"shares": [share.to_json() for share in self.shares]} if self.shares else {})


def _matches_to_json(matches: Iterable[Match]) -> list[dict[str, Any]]:
    return [asdict(match) for match in matches]


def document_to_json(document: Document) -> dict[str, Any]:
    """What a hit and an explanation say of their document: the offsets of matches point into its title and text."""
    return {
        "id": document.id,
        "title": document.title,
        "text": document.text,
        "metadata": dict(document.metadata),
    }
