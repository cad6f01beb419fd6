"""One immutable part of a lexical index: for each term the documents that contain it, with weights or counts.

Arrays (terms T, postings P, documents D, long lists L):
  term_ids (T,) int64 ascending · starts (T + 1,) int64 · largest (T,) float32: the largest weight of each list
  list_documents (P,) uint32, ascending within a list
  of a model's terms: weights (P,) float32
  of counted terms: counts (P,) in the smallest unsigned type that holds them all · lengths (D,) uint32 · shares (P,)
  uint8 as in rows; a search computes BM25's weights from counts and lengths. Segments of earlier formats have weights,
  of an earlier mean length, and counts.
  long_terms (L,) uint32: the numbers of the terms whose lists are long; for these also
  rows (L, D) uint8: every document's weight as a share of the largest, in 255 steps, rounded up
  Of counted terms, `largest`, `shares` and `rows` are of the mean length when the segment was written.
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
from .bm25 import Bm25

CHUNK_POSTINGS = 1 << 21
ARRAYS = ("term_ids", "starts", "largest", "list_documents", "long_terms", "rows", "ranks")
COUNT_TYPES = ("", "uint8", "uint16", "uint32")
LONGEST_DOCUMENT = 2**32 - 1  # terms
RANKED = 64  # documents; native/lexical/engine.hpp has the same


@dataclass(frozen=True)
class LexicalFacts:
    """The manifest's entry for a lexical segment.

    length, longest: the total of all counts, and the largest total of a document · count_type: "" without counts ·
    bm25: of the weights in `largest`, `shares` and `rows`; None if weights are stored.
    """

    documents: int
    terms: int
    postings: int
    long_lists: int
    length: int
    longest: int
    count_type: str
    bm25: Bm25 | None
    files: FileFacts

    @classmethod
    def from_facts(cls, facts: Facts) -> LexicalFacts:
        """Check and read the stored entry."""
        count_type = facts.text("count_type", COUNT_TYPES)
        bm25 = facts.read("bm25", Bm25.from_json) if facts.has("bm25") else None
        if bm25 is not None and not count_type:
            raise DamagedIndex(f"{facts.where} has settings of BM25 and no counts; {REMEDY}")
        names = list_arrays(count_type, bm25)
        documents, terms = facts.whole("documents", most=MOST_DOCUMENTS), facts.whole("terms")
        return cls(
            documents,
            terms,
            facts.whole("postings"),
            facts.whole("long_lists", most=terms),
            facts.whole("length"),
            0 if bm25 is None else facts.whole("longest", most=LONGEST_DOCUMENT),
            count_type,
            bm25,
            facts.files(f"{name}.npy" for name in names),
        )


def list_arrays(count_type: str, bm25: Bm25 | None) -> list[str]:
    """The names of a segment's arrays."""
    if bm25 is not None:
        return [*ARRAYS, "counts", "lengths", "shares"]
    return [*ARRAYS, "counts", "weights"] if count_type else [*ARRAYS, "weights"]


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
    weights: npt.NDArray[np.float32] | None
    counts: npt.NDArray[np.unsignedinteger] | None
    lengths: npt.NDArray[np.uint32] | None
    shares: npt.NDArray[np.uint8] | None
    long_terms: npt.NDArray[np.uint32]
    rows: npt.NDArray[np.uint8]
    ranks: npt.NDArray[np.uint32]

    def to_native(self, bm25: Bm25 | None) -> _native.LexicalSegment:
        """The arrays for the native code; bm25 gives the weights of counted terms, unless they are stored."""
        return _native.LexicalSegment(
            documents=self.facts.documents,
            term_ids=self.term_ids,
            starts=self.starts,
            largest=self.largest,
            list=self.list_documents,
            weights=self.weights,
            counts=self._counts_to_native(bm25),
            long_terms=self.long_terms,
            rows=self.rows,
            ranks=self.ranks,
        )

    def _counts_to_native(self, bm25: Bm25 | None) -> _native.TermCounts | None:
        written = self.facts.bm25
        if bm25 is None or written is None or self.counts is None or self.lengths is None or self.shares is None:
            return None
        lowest, highest = bm25.compare_with(written, self.facts.longest)
        gain, base, slope = map(float, bm25.factors)
        return _native.TermCounts(
            counts=self.counts.view(np.uint8).reshape(self.facts.postings, self.counts.itemsize),
            lengths=self.lengths,
            longest=self.facts.longest,
            shares=self.shares,
            gain=gain,
            base=base,
            slope=slope,
            lowest=lowest,
            highest=highest,
        )

    def frequencies(self, terms: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Terms (n,) -> (n,) documents that contain each, deleted ones included."""
        begins, ends = self._find_lists(terms)
        return ends - begins

    def find_documents(self, term: int) -> npt.NDArray[np.uint32]:
        """The documents that contain a term, checked to exist."""
        begins, ends = self._find_lists(np.array([term], np.int64))
        return self.read_list_documents(slice(int(begins[0]), int(ends[0])))

    def _find_lists(self, terms: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Terms (n,) -> where the list of each begins and ends (n,); the same place for a term that is not there."""
        if not self.facts.terms:
            return np.zeros(len(terms), np.int64), np.zeros(len(terms), np.int64)
        places = np.minimum(np.searchsorted(self.term_ids, terms), self.facts.terms - 1)
        begins, ends = self.starts[places], self.starts[places + 1]
        if ((begins < 0) | (begins > ends) | (ends > self.facts.postings)).any():
            raise DamagedIndex(f"{self.path}: a term's list lies outside its segment; {REMEDY}")
        return begins, np.where(self.term_ids[places] == terms, ends, begins)

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

    def read_values(self, postings: slice) -> npt.NDArray[np.unsignedinteger] | npt.NDArray[np.float32]:
        """The counts of some postings, or their weights if there are no counts; checked to be above 0."""
        values = self.weights if self.counts is None else self.counts
        if values is None:
            raise DamagedIndex(f"{self.path}: has neither counts nor weights; {REMEDY}")
        part = values[postings]
        if part.size and not part.min() > 0:
            raise DamagedIndex(f"{self.path}: a term's list has a weight or count that is not above 0; {REMEDY}")
        return part

    def read_lengths(self) -> npt.NDArray[np.int64]:
        """(documents,) the total of each document's counts, checked; zeros if there are no counts."""
        lengths = self._sum_counts() if self.lengths is None else self.lengths.astype(np.int64)
        longest = self.facts.longest if self.facts.bm25 is not None else LONGEST_DOCUMENT
        if lengths.sum() != self.facts.length or lengths.max(initial=0) > longest:
            raise DamagedIndex(f"{self.path}: the documents' lengths do not match their total; {REMEDY}")
        return lengths

    def _sum_counts(self) -> npt.NDArray[np.int64]:
        """(documents,), from the postings, in a segment that does not store the lengths; zeros without counts."""
        lengths = np.zeros(self.facts.documents, np.int64)
        for first in range(0, self.facts.postings if self.counts is not None else 0, CHUNK_POSTINGS):
            part = slice(first, first + CHUNK_POSTINGS)
            total = np.bincount(self.read_list_documents(part), self.read_values(part), self.facts.documents)
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
        weights=mapped("weights", np.float32, (facts.postings,)) if facts.bm25 is None else None,
        counts=mapped("counts", facts.count_type, (facts.postings,)) if facts.count_type else None,
        lengths=mapped("lengths", np.uint32, (facts.documents,)) if facts.bm25 is not None else None,
        shares=mapped("shares", np.uint8, (facts.postings,)) if facts.bm25 is not None else None,
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
