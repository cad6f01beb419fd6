"""Merges lexical segments and drops deleted documents: lists are joined by term, bounds are recomputed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ...errors import VectorsError
from ...storage.arrays import forget_pages
from ..eligible import Mask
from .bm25 import Bm25
from .segment import CHUNK_POSTINGS, LexicalFacts, OpenLexical, split_lists
from .writer import Counts, ListsWriter, find_smallest_type


@dataclass(frozen=True)
class _Postings:
    """(n,) each: term ids, ascending; documents, ascending within a term; weights, or counts if there are any."""

    terms: npt.NDArray[np.int64]
    documents: npt.NDArray[np.uint32]
    values: npt.NDArray[np.float32] | Counts


class _Part:
    """A segment, which of its documents are kept (documents,), and the number that the first of these gets."""

    def __init__(self, segment: OpenLexical, kept: Mask, first_document: int, chunk_postings: int) -> None:
        self.segment = segment
        self._kept = kept
        self._chunk = chunk_postings
        self.starts = segment.read_starts()
        self.term_ids = segment.read_term_ids()
        self._numbers = first_document + np.cumsum(kept) - 1

    def find_range(self, term_ids: npt.NDArray[np.int64]) -> tuple[int, int]:
        """Term ids (n,) ascending -> the range of this segment's term numbers that covers them."""
        first = np.searchsorted(self.term_ids, term_ids[0])
        return int(first), int(np.searchsorted(self.term_ids, term_ids[-1], side="right"))

    def read(self, first: int, last: int) -> _Postings:
        """The kept postings of the terms numbered first..last in this segment."""
        postings = slice(int(self.starts[first]), int(self.starts[last]))
        documents = self.segment.read_list_documents(postings)
        kept = self._kept[documents]
        terms = np.repeat(self.term_ids[first:last], np.diff(self.starts[first : last + 1]))[kept]
        return _Postings(
            terms, self._numbers[documents[kept]].astype(np.uint32), self.segment.read_values(postings)[kept]
        )

    def frequencies(self) -> tuple[npt.NDArray[np.int64], float]:
        """(terms,) kept documents that contain each term, and the largest count or weight."""
        frequencies = np.zeros(self.segment.facts.terms, np.int64)
        largest = 0.0
        for first, last in split_lists(self.starts, self._chunk):
            found = self.read(first, last)
            places = np.searchsorted(self.term_ids[first:last], found.terms)
            frequencies[first:last] = np.bincount(places, minlength=last - first)
            largest = max(largest, float(found.values.max(initial=0)))
            self.forget()
        return frequencies, largest

    def lengths(self) -> npt.NDArray[np.int64]:
        """(kept documents,) the total of each document's counts."""
        return self.segment.read_lengths()[self._kept]

    def forget(self) -> None:
        """Release the mapped pages: each is read only once."""
        for array in (self.segment.list_documents, self.segment.weights, self.segment.counts):
            forget_pages(array)


def merge_lexical(
    target: Path,
    parts: Sequence[tuple[OpenLexical, Mask]],
    bm25: Bm25 | None,
    chunk_postings: int = CHUNK_POSTINGS,
) -> LexicalFacts:
    """Write the kept documents of several segments, in order, as one segment in the new folder `target`.

    The bytes equal those that `write_lexical` writes for the same documents. Memory: a chunk of postings and a few
    numbers per document and per term. bm25 has the mean length of all documents; None for a model's weights.
    """
    if any((bm25 is None) != (segment.facts.count_type == "") for segment, _ in parts):
        raise VectorsError("BM25 needs counts of terms: merge segments that all have counts, or none")
    firsts = np.cumsum([0] + [int(kept.sum()) for _, kept in parts])
    sources = [
        _Part(segment, kept, first, chunk_postings) for (segment, kept), first in zip(parts, firsts, strict=False)
    ]
    known = np.unique(np.concatenate([np.empty(0, np.int64), *(part.term_ids for part in sources)]))
    stored, frequencies = np.zeros(len(known), np.int64), np.zeros(len(known), np.int64)
    largest = 0.0
    for part in sources:
        places = np.searchsorted(known, part.term_ids)
        in_part, value = part.frequencies()
        frequencies[places] += in_part
        stored[places] += np.diff(part.starts)
        largest = max(largest, value)
    used = frequencies > 0
    lengths = np.concatenate([np.empty(0, np.int64), *(part.lengths() for part in sources)])
    count_type = "" if bm25 is None else find_smallest_type(largest)
    written = np.concatenate([[0], np.cumsum(used)])
    with ListsWriter(target, lengths, known[used], frequencies[used], count_type, bm25) as writer:
        for first, last in split_lists(np.concatenate([[0], np.cumsum(stored)]), chunk_postings):
            if not used[first:last].any():
                continue
            joined = _join([part.read(*part.find_range(known[first:last])) for part in sources])
            writer.write(int(written[first]), int(written[last]), joined.documents, joined.values)
            for part in sources:
                part.forget()
        return writer.close()


def _join(parts: Sequence[_Postings]) -> _Postings:
    """Concatenate the lists of each term, in the order of the parts."""
    terms = np.concatenate([part.terms for part in parts])
    order = np.argsort(terms, kind="stable")
    return _Postings(
        terms[order],
        np.concatenate([part.documents for part in parts])[order],
        np.concatenate([part.values for part in parts])[order],
    )
