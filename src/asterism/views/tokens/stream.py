"""Vectors that are read twice: from an array, a list of chunks, or a one-shot iterator."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from ...errors import VectorsError
from ...kernels.reference import SharedDirection
from ...representations.token_vectors import FloatArray, TokenVectors, check_finite, find_unusable_row
from .clustering import choose_sample, compute_sample_share
from .residual_codec import transform
from .signed_rows import SignedRows

CHUNK_FLOATS = 1 << 21  # 8 MB as float32: small enough for the allocator to reuse, which avoids page faults

VectorSource = TokenVectors | Iterable[TokenVectors] | Iterable[npt.ArrayLike]
"""Vectors of many documents, chunks of them, or a matrix (tokens, d) for each document."""


class TokenStream:
    """TokenVectors that can be iterated twice; a one-shot iterator is spooled to a file on the first pass."""

    def __init__(self, source: VectorSource, spool_folder: Path) -> None:
        """`spool_folder` must exist when an iterator is read."""
        self._source = source
        self._spool_folder = spool_folder
        self._spool: IO[bytes] | None = None
        if not isinstance(source, TokenVectors | Iterable):
            expected = "TokenVectors, an iterable of them, or one of matrices (tokens, d)"
            raise VectorsError(f"a {type(source).__name__} was given, expected {expected}")
        self._one_shot = isinstance(source, Iterator)
        self._spooled: list[tuple[npt.NDArray[np.int64], np.dtype[np.float32] | np.dtype[np.float16], int]] = []
        self._dimensions: int | None = None
        self._read = False

    def __iter__(self) -> Iterator[TokenVectors]:
        """Chunks of about CHUNK_FLOATS numbers; the sizes of the given parts do not matter."""
        if self._one_shot and self._read:
            yield from self._read_spool()
            return
        self._read = True
        waiting: list[TokenVectors] = []
        floats = 0
        for piece in self._read_pieces():
            waiting.append(piece)
            floats += piece.flat.size
            if 2 * floats >= CHUNK_FLOATS:
                yield self._spool_if_one_shot(join_tokens(waiting))
                waiting, floats = [], 0
        if waiting:
            yield self._spool_if_one_shot(join_tokens(waiting))

    def _read_pieces(self) -> Iterator[TokenVectors]:
        """The given parts, large ones split; all must have the same dimensions."""
        given: Iterable[TokenVectors | npt.ArrayLike]
        given = [self._source] if isinstance(self._source, TokenVectors) else self._source
        for one in given:
            part = one if isinstance(one, TokenVectors) else _read_document(one)
            if self._dimensions is None:
                self._dimensions = part.dimensions
            if part.dimensions != self._dimensions:
                raise VectorsError(f"a chunk has {part.dimensions} dimensions, the first has {self._dimensions}")
            yield from part.chunks(max(1, CHUNK_FLOATS // part.dimensions))

    @property
    def known_tokens(self) -> int:
        """Total number of vectors if it is known without reading; otherwise 0."""
        if isinstance(self._source, TokenVectors):
            return len(self._source.flat)
        if isinstance(self._source, list | tuple):
            return sum(_count_tokens(part) for part in self._source)
        return 0

    def _spool_if_one_shot(self, chunk: TokenVectors) -> TokenVectors:
        if self._one_shot:
            if self._spool is None:
                self._spool = tempfile.TemporaryFile(dir=self._spool_folder)  # noqa: SIM115 - closed by close(); it has no name
            self._spooled.append((chunk.offsets, chunk.flat.dtype, self._spool.tell()))
            self._spool.write(chunk.flat.data)
        return chunk

    def _read_spool(self) -> Iterator[TokenVectors]:
        for offsets, dtype, position in self._spooled:
            if self._spool is None:
                return
            shape = (int(offsets[-1]), self._dimensions or 0)
            self._spool.seek(position)
            content = self._spool.read(shape[0] * shape[1] * dtype.itemsize)
            yield TokenVectors(np.frombuffer(content, dtype).reshape(shape), offsets)

    def close(self) -> None:
        """Close the spool file, which deletes it."""
        if self._spool is not None:
            self._spool.close()


def join_tokens(parts: list[TokenVectors]) -> TokenVectors:
    """One value with the documents of all parts."""
    if len(parts) == 1:
        return parts[0]
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    return TokenVectors(np.concatenate([part.flat for part in parts]), np.concatenate([[0], np.cumsum(lengths)]))


class Sample:
    """The first pass: counts, and a sample of vectors to train the codec. It does not depend on chunking.

    documents, tokens, dimensions: of the whole stream.
    """

    def __init__(self, stream: TokenStream, seed: int) -> None:
        """Read the stream once. Positions are chosen by hash; the sampled share falls as the stream grows."""
        self.documents = 0
        self.tokens = 0
        self.dimensions = 0
        self._seed = seed
        self._rows: list[FloatArray] = []
        self._positions: list[npt.NDArray[np.int64]] = []
        thinned_at, expected = 0, stream.known_tokens
        for chunk in stream:
            self.dimensions = chunk.dimensions
            positions = np.arange(self.tokens, self.tokens + len(chunk.flat))
            self.tokens += len(chunk.flat)
            self.documents += len(chunk)
            share = compute_sample_share(max(self.tokens, expected))
            chosen = choose_sample(positions, share, seed)
            self._rows.append(chunk.flat[chosen])
            self._positions.append(positions[chosen])
            if self.tokens > 2 * thinned_at:
                self._thin(share)
                thinned_at = self.tokens
        if self.documents == 0:
            raise VectorsError("zero documents were given, expected at least one")
        if self.tokens == 0:
            raise VectorsError(f"{self.documents} documents without a vector were given, expected at least one vector")
        self._thin(compute_sample_share(self.tokens))

    def _thin(self, share: float) -> None:
        """Drop the rows that a smaller share would not have sampled."""
        for i, positions in enumerate(self._positions):
            kept = choose_sample(positions, share, self._seed)
            self._rows[i] = self._rows[i][kept]
            self._positions[i] = positions[kept]

    def copy_evenly(self) -> npt.NDArray[np.float32]:
        """(n, d) evenly spaced vectors of the sample, at most as many as a chunk has."""
        count = sum(map(len, self._rows))
        wanted = np.linspace(0, count - 1, min(count, max(1, CHUNK_FLOATS // self.dimensions))).astype(np.int64)
        copies, begin = [], 0
        for rows, positions in zip(self._rows, self._positions, strict=True):
            chosen = wanted[(wanted >= begin) & (wanted < begin + len(rows))] - begin
            copies.append(rows[chosen].astype(np.float32))
            unusable = find_unusable_row(copies[-1])
            if unusable is not None:
                check_finite(copies[-1][unusable : unusable + 1], "the vectors", int(positions[chosen[unusable]]))
            begin += len(rows)
        return np.concatenate(copies)

    def take_transformed(
        self, shared: SharedDirection, signs: npt.NDArray[np.float32], width: int, threads: int
    ) -> SignedRows:
        """Transform the sampled vectors and return them; the sample does not keep them."""
        rows = SignedRows.empty(sum(map(len, self._rows)), self.dimensions, width)
        begin = 0
        for positions in self._positions:
            part = self._rows.pop(0)
            transformed = transform(part, shared, signs, threads)
            unusable = find_unusable_row(transformed)
            if unusable is not None:
                check_finite(transformed[unusable : unusable + 1], "the vectors", int(positions[unusable]))
            rows[begin : begin + len(part)].fill(transformed, threads)
            begin += len(part)
        return rows


def _read_document(matrix: npt.ArrayLike) -> TokenVectors:
    """(tokens, d) of one document."""
    if not isinstance(matrix, np.ndarray | list | tuple):
        expected = "TokenVectors, or the matrix (tokens, d) of a document"
        raise VectorsError(f"a chunk is a {type(matrix).__name__}, expected {expected}")
    return TokenVectors.from_documents([matrix])


def _count_tokens(part: object) -> int:
    if isinstance(part, TokenVectors):
        return len(part.flat)
    return len(part) if isinstance(part, np.ndarray | list | tuple) else 0
