"""Writes the arrays of a lexical segment, a few lists at a time."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt

from ...errors import VectorsError
from ...representations.lexical import LexicalWeights
from ...storage.arrays import ArrayWriter, write_arrays
from ...storage.folders import fsync_folder
from ..tokens.segment import MOST_DOCUMENTS
from .bm25 import saturate
from .segment import RANKED, LexicalFacts, split_lists

LONG_SHARE = 16  # a list is long if it has at least one in 16 documents: from here on, adding up a row is faster
LARGEST_WEIGHT = 1e15  # sums of products of two such weights stay far below the maximum of float32

Counts = npt.NDArray[np.unsignedinteger]


class ListsWriter:
    """Writes a segment into the new folder `target`; term_ids (T,) and frequencies (T,) are known in advance."""

    def __init__(
        self,
        target: Path,
        documents: int,
        term_ids: npt.NDArray[np.int64],
        frequencies: npt.NDArray[np.int64],
        count_type: str,
    ) -> None:
        """Write the small arrays and open the others."""
        if documents > MOST_DOCUMENTS:
            raise VectorsError(f"{documents} documents were given, expected at most {MOST_DOCUMENTS} in one segment")
        target.mkdir()
        self._target = target
        self._documents = documents
        self._count_type = count_type
        self._long = frequencies * LONG_SHARE >= documents
        self.starts: npt.NDArray[np.int64] = np.concatenate([[0], np.cumsum(frequencies)])
        self._largest: list[npt.NDArray[np.float32]] = [np.empty(0, np.float32)]
        long_terms = np.flatnonzero(self._long).astype(np.uint32)
        self._files = write_arrays(target, {"term_ids": term_ids, "starts": self.starts, "long_terms": long_terms})
        postings = (int(self.starts[-1]),)
        shapes: dict[str, tuple[npt.DTypeLike, tuple[int, ...]]] = {
            "list_documents": (np.uint32, postings),
            "weights": (np.float32, postings),
            "rows": (np.uint8, (len(long_terms), documents)),
            "ranks": (np.uint32, (len(long_terms), documents // RANKED + 1)),
        }
        if count_type:
            shapes["counts"] = (count_type, postings)
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
        weights: npt.NDArray[np.float32],
        counts: Counts | None,
    ) -> None:
        """Append the postings of the terms first..last."""
        self._writers["list_documents"].write(documents)
        self._writers["weights"].write(weights)
        if counts is not None:
            self._writers["counts"].write(counts)
        starts = self.starts[first : last + 1] - self.starts[first]
        self._largest.append(np.maximum.reduceat(weights, starts[:-1]))
        places = np.arange(0, self._documents + 1, RANKED)
        for place in np.flatnonzero(self._long[first:last]):
            part = slice(starts[place], starts[place + 1])
            row = np.zeros(self._documents, np.uint8)
            row[documents[part]] = np.ceil(weights[part] / np.float64(weights[part].max()) * 255)
            self._writers["rows"].write(row)
            self._writers["ranks"].write(np.searchsorted(documents[part], places))

    def close(self, length: int) -> LexicalFacts:
        """Flush everything to disk; `length` is the total of the counts."""
        files = self._files | {f"{name}.npy": writer.close() for name, writer in self._writers.items()}
        files |= write_arrays(self._target, {"largest": np.concatenate(self._largest)})
        fsync_folder(self._target)
        terms, postings = len(self._long), int(self.starts[-1])
        long_lists = int(self._long.sum())
        return LexicalFacts(self._documents, terms, postings, long_lists, length, self._count_type, files)

    def __enter__(self) -> ListsWriter:
        """Close the files when the with block ends, also after an error."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the files; `close` returns the facts."""
        self._closing.close()


def write_lexical(target: Path, entries: LexicalWeights, mean_length: float | None) -> LexicalFacts:
    """Write the entries of documents as a segment in the new folder `target`.

    With a mean length the weights are counts of terms, and their BM25 weights are stored too. Weights of 0 are dropped.
    """
    if mean_length is not None and (entries.weights != np.floor(entries.weights)).any():
        raise VectorsError("counts of terms are not whole numbers, which BM25 needs")
    kept = check_weights(entries.weights) > 0
    documents = np.repeat(np.arange(len(entries), dtype=np.uint32), np.diff(entries.offsets))[kept]
    weights = entries.weights[kept]
    order = np.argsort(entries.terms[kept], kind="stable")
    term_ids, frequencies = np.unique(entries.terms[kept], return_counts=True)
    lengths = np.bincount(documents, weights, len(entries)).astype(np.int64)
    count_type = "" if mean_length is None else find_smallest_type(weights.max(initial=0))
    with ListsWriter(target, len(entries), term_ids, frequencies, count_type) as writer:
        for first, last in split_lists(writer.starts):
            chosen = order[writer.starts[first] : writer.starts[last]]
            found, values = documents[chosen], weights[chosen]
            if mean_length is None:
                writer.write(first, last, found, values, None)
            else:
                counts = values.astype(count_type)
                writer.write(first, last, found, saturate(counts, lengths[found], mean_length), counts)
        return writer.close(0 if mean_length is None else int(lengths.sum()))


def find_smallest_type(largest: float) -> str:
    """The name of the smallest unsigned type that holds counts up to `largest`."""
    return np.min_scalar_type(int(largest)).name


def check_weights(weights: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """(n,) of documents or queries; refuse negative weights and weights so large that scores could overflow."""
    if weights.size and not 0 <= weights.min() <= weights.max() <= LARGEST_WEIGHT:
        found = f"{weights.min()} to {weights.max()}"
        raise VectorsError(f"weights from {found} were given, expected numbers from 0 to {LARGEST_WEIGHT:g}")
    return np.ascontiguousarray(weights)
