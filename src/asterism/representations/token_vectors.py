"""Several vectors per document: one flat matrix and offsets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ..errors import VectorsError

FloatArray = npt.NDArray[np.float32] | npt.NDArray[np.float16]

LARGEST = 1e15  # sums of squares must fit into float32


class TokenVectors:
    """flat (tokens, d) float16 or float32, offsets (documents + 1,) int64: document i is flat[offsets[i]:offsets[i+1]].

    `dimensions` is d. A document may have no vectors. `flat` may be memory-mapped; it is neither copied nor changed.
    """

    __slots__ = ("dimensions", "flat", "offsets")

    def __init__(self, flat: npt.ArrayLike, offsets: npt.ArrayLike) -> None:
        """Check shapes and types; values (NaN, infinity) are checked when they are read, chunk by chunk."""
        self.flat: FloatArray = check_matrix(flat, "flat")
        self.dimensions: int = self.flat.shape[1]
        given = np.asarray(offsets)
        if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "iu":
            raise VectorsError(
                f"offsets has shape {given.shape} and type {given.dtype}, expected (documents + 1,) of integers"
            )
        self.offsets: npt.NDArray[np.int64] = given.astype(np.int64)
        if self.offsets[0] != 0 or self.offsets[-1] != len(self.flat):
            raise VectorsError(
                f"offsets go from {self.offsets[0]} to {self.offsets[-1]}, expected from 0 to the number of vectors, "
                f"{len(self.flat)}"
            )
        falling = self.offsets[1:] < self.offsets[:-1]
        if falling.any():
            place = int(falling.argmax())
            raise VectorsError(f"offsets decrease after position {place}, expected each at least the one before")

    @classmethod
    def from_documents(cls, documents: Sequence[npt.ArrayLike]) -> TokenVectors:
        """One matrix (tokens, d) per document."""
        if len(documents) == 0:
            raise VectorsError("no documents were given, expected at least one matrix (tokens, d)")
        matrices = [check_matrix(document, f"document {i}") for i, document in enumerate(documents)]
        for i, matrix in enumerate(matrices):
            if matrix.shape[1] != matrices[0].shape[1]:
                raise VectorsError(
                    f"document {i} has {matrix.shape[1]} dimensions, expected {matrices[0].shape[1]} as in document 0"
                )
        return cls(np.concatenate(matrices), np.cumsum([0] + [len(matrix) for matrix in matrices]))

    def __repr__(self) -> str:
        """The shape; not the numbers."""
        return f"<TokenVectors {len(self):,} documents, {len(self.flat):,} vectors, {self.dimensions} dimensions>"

    def __len__(self) -> int:
        """The number of documents."""
        return len(self.offsets) - 1

    def __getitem__(self, document: int) -> FloatArray:
        """(tokens, d) of one document."""
        if not 0 <= document < len(self):
            raise IndexError(f"document {document} of {len(self)}")
        return self.flat[self.offsets[document] : self.offsets[document + 1]]

    def chunks(self, tokens: int) -> Iterator[TokenVectors]:
        """The same documents in order, in parts of about `tokens` vectors; a document is never split."""
        start = 0
        while start < len(self):
            stop = int(np.searchsorted(self.offsets, self.offsets[start] + tokens, side="right")) - 1
            stop = max(stop, start + 1)
            begin, end = self.offsets[start], self.offsets[stop]
            yield TokenVectors(self.flat[begin:end], self.offsets[start : stop + 1] - begin)
            start = stop


def check_matrix(values: npt.ArrayLike, name: str) -> FloatArray:
    """`values` as a C-contiguous (n, d) float16 or float32 matrix with d ≥ 1; copied only if necessary.

    Other floats, and lists and tuples of numbers, become float32.
    """
    try:
        matrix = np.asarray(values)
    except ValueError as error:
        raise VectorsError(f"{name} is not a matrix ({error}), expected (vectors, dimensions)") from error
    if matrix.dtype not in (np.float16, np.float32):
        if matrix.dtype.kind != "f" and not (matrix.dtype.kind in "iu" and isinstance(values, list | tuple)):
            raise VectorsError(f"{name} has type {matrix.dtype}, expected floats, such as float32")
        with np.errstate(over="ignore"):  # infinity, which is refused when it is read
            matrix = matrix.astype(np.float32)
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise VectorsError(f"{name} has shape {matrix.shape}, expected (vectors, dimensions)")
    return np.ascontiguousarray(matrix)


def find_unusable_row(matrix: FloatArray) -> int | None:
    """The first row of (n, d) with NaN, infinity or a number beyond ±1e15 (about that for rotated rows), or None."""
    if float(matrix.max(initial=0)) <= LARGEST and float(matrix.min(initial=0)) >= -LARGEST:  # faster
        return None
    rows = np.asarray(matrix, np.float32)
    usable = (rows.max(axis=1, initial=0) <= LARGEST) & (rows.min(axis=1, initial=0) >= -LARGEST)  # NaN fails both
    return int(np.argmin(usable))


def check_finite(matrix: npt.NDArray[np.float32], name: str, first_row: int = 0) -> None:
    """Refuse rows that cannot be computed with."""
    row = find_unusable_row(matrix)
    if row is not None:
        raise VectorsError(f"{name}: row {first_row + row} has NaN, infinity or numbers of about 1e15, expected none")
