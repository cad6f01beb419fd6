"""One immutable part of a lexical index: for each term the documents that contain it, with weights.

Arrays (terms T, postings P, documents D, long lists L):
  term_ids (T,) int64 ascending · starts (T + 1,) int64 · largest (T,) float32: the largest weight of each list
  list_documents (P,) uint32, ascending within a list · weights (P,) float32 · counts (P,), for BM25, in the smallest
  unsigned type that holds them all
  long_terms (L,) uint32: the numbers of the terms whose lists are long; for these also
  rows (L, D) uint8: every document's weight as a share of the largest, in 255 steps, rounded up
  ranks (L, ⌊D / 64⌋ + 1) uint32: how many of the list's documents come before each 64th document
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ...errors import DamagedIndex
from ...kernels import _native
from ...storage.arrays import MappedFolder
from ...storage.facts import Facts, FileFacts
from ...storage.faults import REMEDY
from ..tokens.segment import MOST_DOCUMENTS

CHUNK_POSTINGS = 1 << 21
ARRAYS = ("term_ids", "starts", "largest", "list_documents", "weights", "long_terms", "rows", "ranks")
COUNT_TYPES = ("", "uint8", "uint16", "uint32")
RANKED = 64  # documents; native/lexical/engine.hpp has the same


@dataclass(frozen=True)
class LexicalFacts:
    """The manifest's entry for a lexical segment; length: the total of all counts; count_type: "" without counts."""

    documents: int
    terms: int
    postings: int
    long_lists: int
    length: int
    count_type: str
    files: FileFacts

    @classmethod
    def from_facts(cls, facts: Facts) -> LexicalFacts:
        """Check and read the stored entry."""
        count_type = facts.text("count_type", COUNT_TYPES)
        names = [*ARRAYS, "counts"] if count_type else ARRAYS
        documents, terms = facts.whole("documents", most=MOST_DOCUMENTS), facts.whole("terms")
        return cls(
            documents,
            terms,
            facts.whole("postings"),
            facts.whole("long_lists", most=terms),
            facts.whole("length"),
            count_type,
            facts.files(f"{name}.npy" for name in names),
        )


@dataclass(frozen=True)
class OpenLexical:
    """The arrays of a lexical segment, memory-mapped, with consistent shapes."""

    path: Path
    facts: LexicalFacts
    folder: MappedFolder
    term_ids: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    largest: npt.NDArray[np.float32]
    list_documents: npt.NDArray[np.uint32]
    weights: npt.NDArray[np.float32]
    counts: npt.NDArray[np.unsignedinteger] | None
    long_terms: npt.NDArray[np.uint32]
    rows: npt.NDArray[np.uint8]
    ranks: npt.NDArray[np.uint32]

    def to_native(self) -> _native.LexicalSegment:
        """The arrays for the native code."""
        return _native.LexicalSegment(
            documents=self.facts.documents,
            term_ids=self.term_ids,
            starts=self.starts,
            largest=self.largest,
            list=self.list_documents,
            weights=self.weights,
            long_terms=self.long_terms,
            rows=self.rows,
            ranks=self.ranks,
        )

    def frequencies(self, terms: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Terms (n,) -> (n,) documents that contain each."""
        if not self.facts.terms:
            return np.zeros(len(terms), np.int64)
        places = np.minimum(np.searchsorted(self.term_ids, terms), self.facts.terms - 1)
        begins, ends = self.starts[places], self.starts[places + 1]
        if ((begins < 0) | (begins > ends) | (ends > self.facts.postings)).any():
            raise DamagedIndex(f"{self.path}: a term's list lies outside its segment; {REMEDY}")
        return np.where(self.term_ids[places] == terms, ends - begins, 0)

    def read_term_ids(self) -> npt.NDArray[np.int64]:
        """(terms,) checked to ascend."""
        term_ids = np.array(self.term_ids)
        if (term_ids[1:] <= term_ids[:-1]).any():
            raise DamagedIndex(f"{self.path}: the terms are not in ascending order; {REMEDY}")
        return term_ids

    def read_starts(self) -> npt.NDArray[np.int64]:
        """(terms + 1,) where each term's list begins, checked."""
        starts = np.array(self.starts)
        if starts[0] != 0 or starts[-1] != self.facts.postings or (starts[1:] < starts[:-1]).any():
            raise DamagedIndex(f"{self.path}: the terms' lists are not in order; {REMEDY}")
        return starts

    def read_list_documents(self, postings: slice) -> npt.NDArray[np.uint32]:
        """The documents of some postings, checked to exist."""
        documents = self.list_documents[postings]
        if documents.size and int(documents.max()) >= self.facts.documents:
            raise DamagedIndex(f"{self.path}: a term's list names a document that does not exist; {REMEDY}")
        return documents

    def lengths(self) -> npt.NDArray[np.int64]:
        """(documents,) the total of each document's counts; zeros if there are no counts."""
        lengths = np.zeros(self.facts.documents, np.int64)
        if self.counts is not None:
            for first in range(0, self.facts.postings, CHUNK_POSTINGS):
                part = slice(first, first + CHUNK_POSTINGS)
                total = np.bincount(self.read_list_documents(part), self.counts[part], self.facts.documents)
                lengths += total.astype(np.int64)
        return lengths


def open_lexical(target: Path, facts: LexicalFacts) -> OpenLexical:
    """Map the arrays of a folder and check their shapes."""
    inside = MappedFolder(target, facts.files)
    mapped = inside.array
    return OpenLexical(
        path=target,
        facts=facts,
        folder=inside,
        term_ids=mapped("term_ids", np.int64, (facts.terms,)),
        starts=mapped("starts", np.int64, (facts.terms + 1,)),
        largest=mapped("largest", np.float32, (facts.terms,)),
        list_documents=mapped("list_documents", np.uint32, (facts.postings,)),
        weights=mapped("weights", np.float32, (facts.postings,)),
        counts=mapped("counts", facts.count_type, (facts.postings,)) if facts.count_type else None,
        long_terms=mapped("long_terms", np.uint32, (facts.long_lists,)),
        rows=mapped("rows", np.uint8, (facts.long_lists, facts.documents)),
        ranks=mapped("ranks", np.uint32, (facts.long_lists, facts.documents // RANKED + 1)),
    )


def split_lists(starts: npt.NDArray[np.int64], postings: int = CHUNK_POSTINGS) -> Iterator[tuple[int, int]]:
    """(terms + 1,) -> ranges of whole lists with up to `postings` postings; a single list may have more."""
    first = 0
    while first < len(starts) - 1:
        past = int(np.searchsorted(starts, starts[first] + postings, side="right")) - 1
        last = max(first + 1, past)
        yield first, last
        first = last
