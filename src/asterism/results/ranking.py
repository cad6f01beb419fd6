"""The hits of a query, best first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any, overload

from .explanation import Explanation, document_to_json
from .sources import name_source

if TYPE_CHECKING:
    from ..documents.document import Document


@dataclass(frozen=True)
class Hit:
    """A document that was found, with its rank (from 1) and score.

    index: the index that it comes from, if several were searched.
    """

    rank: int
    id: str
    score: float
    document: Document
    index: str | None = None

    @property
    def source(self) -> str:
        """The file and the place of a passage: "notes/a.md:12–30"; empty if the document is not from a file."""
        return name_source(self.document.metadata)

    def to_json(self, explanation: Explanation | None = None) -> dict[str, Any]:
        """The object `hit` of schema.json; an explanation of this hit adds its matches and shares."""
        found = {"id": self.id, "rank": self.rank, "score": self.score, **document_to_json(self.document)}
        found |= {} if self.index is None else {"index": self.index}
        return found if explanation is None else found | explanation.reasons_to_json()


@dataclass(frozen=True)
class Ranking(Sequence[Hit]):
    """The hits of one query, best first, and the seconds that each stage took.

    calls: of a scorer; None for a search without one. Timings are ignored when rankings are compared.
    """

    query: str
    method: str
    hits: tuple[Hit, ...]
    timings: dict[str, float] = field(default_factory=dict, compare=False)
    calls: int | None = None

    @classmethod
    def from_scores(
        cls,
        query: str,
        method: str,
        found: Sequence[tuple[Document, float]],
        timings: dict[str, float],
        calls: int | None = None,
        offset: int = 0,
    ) -> Ranking:
        """Documents with their scores, best first, of which the first `offset` are left out.

        A document without words, which no number scores, is no hit.
        """
        answers = [pair for pair in found if isfinite(pair[1])][offset:]
        hits = (Hit(rank, document.id, score, document) for rank, (document, score) in enumerate(answers, offset + 1))
        return cls(query, method, tuple(hits), timings, calls)

    def __len__(self) -> int:
        """Hits."""
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        """Best first."""
        return iter(self.hits)

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, place: int | slice) -> Hit | tuple[Hit, ...]:
        """The hit at a place, from 0; the hits of a slice."""
        return self.hits[place]

    @property
    def ids(self) -> list[str]:
        """The documents' ids, best first."""
        return [hit.id for hit in self.hits]

    def to_json(self, explanations: Sequence[Explanation] = ()) -> dict[str, Any]:
        """The object `ranking` of schema.json; `explanations` are none, or one for each hit."""
        reasons: Sequence[Explanation | None] = explanations or [None] * len(self)
        hits = [hit.to_json(reason) for hit, reason in zip(self, reasons, strict=True)]
        found = {"query": self.query, "method": self.method, "timings": dict(self.timings), "hits": hits}
        return found if self.calls is None else found | {"calls": self.calls}
