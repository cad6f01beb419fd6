"""What BM25 knows of a collection: how many documents it has, how long they are, and how many of them have a term.

Deleted documents do not count, although they are in their segments until a merge: so scores are those of a collection
that never had them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..eligible import Mask
from .segment import OpenLexical

Numbers = npt.NDArray[np.int64]

MOST_REMEMBERED = 1 << 16  # terms


class LexicalStatistics:
    """Of some segments and their documents that are not deleted.

    documents, length: how many, and the total of their counts
    """

    def __init__(self, segments: Sequence[OpenLexical], kept: Mask | None = None) -> None:
        """kept (documents of all segments,): which are not deleted; None for all."""
        self.segments = list(segments)
        self._deleted: list[tuple[OpenLexical, Mask]] = []
        self._remembered: dict[int, int] = {}  # term -> deleted documents that have it
        self.documents = sum(segment.facts.documents for segment in segments)
        self.length = sum(segment.facts.length for segment in segments)
        deleted = np.zeros(self.documents, bool) if kept is None else ~kept
        ends = np.cumsum([segment.facts.documents for segment in segments])
        for segment, own in zip(segments, np.split(deleted, ends[:-1]), strict=True) if deleted.any() else ():
            self.documents -= int(own.sum())
            self.length -= _sum_lengths(segment, own)
            if own.any():
                self._deleted.append((segment, own))

    def join(self, others: Sequence[LexicalStatistics]) -> LexicalStatistics:
        """Of the segments of all, as if they were in one collection."""
        joined = LexicalStatistics([])
        for one in (self, *others):
            joined.segments += one.segments
            joined._deleted += one._deleted
            joined.documents += one.documents
            joined.length += one.length
        return joined

    def frequencies(self, terms: npt.ArrayLike) -> Numbers:
        """Terms (n,) -> (n,) documents that contain each."""
        asked = np.asarray(terms, np.int64)
        found = np.zeros(len(asked), np.int64)
        for segment in self.segments:
            found += segment.frequencies(asked)
        if self._deleted:
            found -= np.array([self._count_deleted(int(term)) for term in asked], np.int64)
        return found

    def _count_deleted(self, term: int) -> int:
        """Deleted documents that have a term; the lists are read once for each term."""
        count = self._remembered.get(term)
        if count is None:
            count = sum(int(deleted[segment.find_documents(term)].sum()) for segment, deleted in self._deleted)
            if len(self._remembered) >= MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[term] = count
        return count


def _sum_lengths(segment: OpenLexical, chosen: Mask) -> int:
    """The total of the counts of some documents; segments of earlier formats have no lengths but their mean."""
    if segment.lengths is None:
        return round(segment.facts.length * float(chosen.mean()))
    return int(segment.lengths[chosen].sum(dtype=np.int64))
