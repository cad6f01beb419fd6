"""Writes the arrays of a lexical segment, a few lists at a time."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import VectorsError
from ...files.new_folders import fsync_path
from ...representations.lexical import LexicalWeights
from ...storage.arrays import ArrayWriter, write_arrays
from ..tokens.segment import MOST_DOCUMENTS
from .bm25 import Bm25
from .segment import LONGEST_DOCUMENT, RANKED, LexicalFacts, split_lists

LONG_SHARE = 16  # a list is long if it has at least one in 16 documents: from here on, adding up a row is faster
STEPS = np.float32(255 * (1 + 2**-21))  # so that no share is rounded down, though the arithmetic rounds
LARGEST_WEIGHT = 1e15  # sums of products of two such weights stay far below the maximum of float32

Counts = npt.NDArray[np.unsignedinteger]


class ListsWriter:
    """Writes a segment into the new folder `target`; term_ids (T,) and frequencies (T,) are known in advance.

    lengths (documents,): the totals of the counts, 0 without; bm25: how counts become weights, None for a model's.
    """

    def __init__(
        self,
        target: Path,
        lengths: npt.NDArray[np.int64],
        term_ids: npt.NDArray[np.int64],
        frequencies: npt.NDArray[np.int64],
        count_type: str,
        bm25: Bm25 | None,
    ) -> None:
        """Write the small arrays and open the others."""
        documents = len(lengths)
        if documents > MOST_DOCUMENTS:
            raise VectorsError(f"{documents} documents were given, expected at most {MOST_DOCUMENTS} in one segment")
        longest = int(lengths.max(initial=0))
        if bm25 is not None and longest > LONGEST_DOCUMENT:
            raise VectorsError(f"a document has {longest} terms, expected at most {LONGEST_DOCUMENT}: split it")
        target.mkdir()
        self._target = target
        self._bm25 = bm25
        self._lengths = lengths
        self._short_lengths = lengths.astype(np.uint32)
        self._documents = documents
        self._count_type = count_type
        self._long = frequencies * LONG_SHARE >= documents
        self.starts: npt.NDArray[np.int64] = np.concatenate([[0], np.cumsum(frequencies)])
        self._largest: list[npt.NDArray[np.float32]] = [np.empty(0, np.float32)]
        long_terms = np.flatnonzero(self._long).astype(np.uint32)
        small: dict[str, npt.NDArray[Any]] = {"term_ids": term_ids, "starts": self.starts, "long_terms": long_terms}
        if bm25 is not None:
            small["lengths"] = self._short_lengths
        self._files = write_arrays(target, small)
        postings = (int(self.starts[-1]),)
        shapes: dict[str, tuple[npt.DTypeLike, tuple[int, ...]]] = {
            "list_documents": (np.uint32, postings),
            "rows": (np.uint8, (len(long_terms), documents)),
            "ranks": (np.uint32, (len(long_terms), documents // RANKED + 1)),
        }
        if bm25 is None:
            shapes["weights"] = (np.float32, postings)
        else:
            shapes |= {"counts": (count_type, postings), "shares": (np.uint8, postings)}
        with ExitStack() as opening:
            self._writers = {
                name: opening.enter_context(ArrayWriter(target / f"{name}.npy", dtype, shape))
                for name, (dtype, shape) in shapes.items()
            }
            self._closing = opening.pop_all()

    def write(
        self,
        first: int,
        last: int,
        documents: npt.NDArray[np.uint32],
        values: npt.NDArray[np.float32] | Counts,
    ) -> None:
        """Append the postings of the terms first..last; their values are weights, or counts for BM25."""
        self._writers["list_documents"].write(documents)
        if self._bm25 is None:
            self._writers["weights"].write(values)
            weights = np.asarray(values, np.float32)
        else:
            self._writers["counts"].write(values)
            weights = self._bm25.weigh(values, self._short_lengths[documents])
        starts = self.starts[first : last + 1] - self.starts[first]
        largest = np.maximum.reduceat(weights, starts[:-1])
        self._largest.append(largest)
        if self._bm25 is not None:
            self._writers["shares"].write(find_shares(weights, np.repeat(largest, np.diff(starts))))
        places = np.arange(0, self._documents + 1, RANKED)
        for place in np.flatnonzero(self._long[first:last]):
            part = slice(starts[place], starts[place + 1])
            row = np.zeros(self._documents, np.uint8)
            row[documents[part]] = find_shares(weights[part], largest[place])
            self._writers["rows"].write(row)
            self._writers["ranks"].write(np.searchsorted(documents[part], places))

    def close(self) -> LexicalFacts:
        """Flush everything to disk."""
        files = self._files | {f"{name}.npy": writer.close() for name, writer in self._writers.items()}
        files |= write_arrays(self._target, {"largest": np.concatenate(self._largest)})
        fsync_path(self._target)
        terms, postings = len(self._long), int(self.starts[-1])
        long_lists = int(self._long.sum())
        length, longest = int(self._lengths.sum()), int(self._lengths.max(initial=0))
        sizes = (self._documents, terms, postings, long_lists, length, longest)
        return LexicalFacts(*sizes, self._count_type, self._bm25, files)

    def __enter__(self) -> ListsWriter:
        """Close the files when the with block ends, also after an error."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the files; `close` returns the facts."""
        self._closing.close()


def write_lexical(target: Path, entries: LexicalWeights, bm25: Bm25 | None) -> LexicalFacts:
    """Write the entries of documents as a segment in the new folder `target`; entries with a weight of 0 are dropped.

    With bm25 the weights are counts of terms. It may have any mean length: the nearer to that of a later search, the
    faster the search.
    """
    if bm25 is not None and (entries.weights != np.floor(entries.weights)).any():
        raise VectorsError("counts of terms are not whole numbers, which BM25 needs")
    kept = check_weights(entries.weights) > 0
    documents = np.repeat(np.arange(len(entries), dtype=np.uint32), np.diff(entries.offsets))[kept]
    weights = entries.weights[kept]
    order = np.argsort(entries.terms[kept], kind="stable")
    term_ids, frequencies = np.unique(entries.terms[kept], return_counts=True)
    lengths = np.zeros(len(entries), np.int64)
    if bm25 is not None:
        lengths += np.bincount(documents, weights, len(entries)).astype(np.int64)
    count_type = "" if bm25 is None else find_smallest_type(weights.max(initial=0))
    with ListsWriter(target, lengths, term_ids, frequencies, count_type, bm25) as writer:
        for first, last in split_lists(writer.starts):
            chosen = order[writer.starts[first] : writer.starts[last]]
            values = weights[chosen]
            writer.write(first, last, documents[chosen], values.astype(count_type) if count_type else values)
        return writer.close()


def find_shares(
    weights: npt.NDArray[np.float32], largest: npt.NDArray[np.float32] | np.float32
) -> npt.NDArray[np.uint8]:
    """(n,) weights above 0 as shares of the largest in 255 steps, rounded up."""
    shares = weights / largest
    shares *= STEPS
    np.ceil(shares, out=shares)
    return np.clip(shares, 1, 255, out=shares).astype(np.uint8)


def find_smallest_type(largest: float) -> str:
    """The name of the smallest unsigned type that holds counts up to `largest`."""
    return np.min_scalar_type(int(largest)).name


def check_weights(weights: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """(n,) of documents or queries; refuse negative weights and weights so large that scores could overflow."""
    if weights.size and not 0 <= weights.min() <= weights.max() <= LARGEST_WEIGHT:
        found = f"{weights.min()} to {weights.max()}"
        raise VectorsError(f"weights from {found} were given, expected numbers from 0 to {LARGEST_WEIGHT:g}")
    return np.ascontiguousarray(weights)
