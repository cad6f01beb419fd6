"""Merges segments of one codec and drops deleted documents: codes are copied, lists are rebuilt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import DamagedIndex
from ...files.new_folders import fsync_path
from ...representations.token_vectors import FloatArray, TokenVectors, find_unusable_row
from ...storage.arrays import ArrayWriter, forget_pages, write_arrays
from ...storage.faults import REMEDY
from ..eligible import Mask
from .residual_codec import ResidualCodec
from .segment import OpenTokens, TokenFacts
from .writer import make_inverted_lists

CHUNK_TOKENS = 1 << 14


@dataclass(frozen=True)
class KeptTokens:
    """A segment, which of its documents are kept (documents,), and about how many vectors are read at once."""

    segment: OpenTokens
    kept: Mask
    chunk_tokens: int = CHUNK_TOKENS

    def lengths(self) -> npt.NDArray[np.int64]:
        """(kept documents,) number of vectors of each."""
        return np.diff(self.segment.read_offsets())[self.kept]

    def rows(self) -> Iterator[npt.NDArray[np.int64]]:
        """The rows of the kept documents' vectors, in order, in chunks of whole documents."""
        offsets = self.segment.read_offsets()
        begins, lengths = offsets[:-1][self.kept], self.lengths()
        ends = np.cumsum(lengths)
        first = 0
        while first < len(begins):
            done = ends[first] - lengths[first]
            last = max(first + 1, int(np.searchsorted(ends, done + self.chunk_tokens, side="right")))
            chosen = lengths[first:last]
            starts = np.repeat(begins[first:last] - np.concatenate([[0], np.cumsum(chosen)[:-1]]), chosen)
            yield starts + np.arange(len(starts))
            first = last

    def forget(self) -> None:
        """Release the mapped pages: each is read only once."""
        for array in (self.segment.codes, self.segment.fine, self.segment.scales, self.segment.centroids):
            forget_pages(array)


class KeptVectors:
    """The vectors of kept documents, decoded if they are codes; can be iterated any number of times."""

    def __init__(self, parts: Sequence[KeptTokens], codec: ResidualCodec) -> None:
        """All parts must use this codec."""
        self._parts = parts
        self._codec = codec

    def __iter__(self) -> Iterator[TokenVectors]:
        """Chunks of whole documents."""
        for part in self._parts:
            lengths, first = part.lengths(), 0
            for rows in part.rows():
                ends = np.cumsum(lengths[first:])
                count = int(np.searchsorted(ends, len(rows), side="right"))
                yield TokenVectors(self._decode_rows(part.segment, rows), np.concatenate([[0], ends[:count]]))
                part.forget()
                first += count

    def _decode_rows(self, segment: OpenTokens, rows: npt.NDArray[np.int64]) -> FloatArray:
        stored: npt.NDArray[Any] = segment.codes[rows] if segment.fine is None else segment.fine[rows]
        if segment.scales is not None and segment.fine is None:
            stored = self._codec.decode(stored, segment.scales[rows], segment.read_centroids(rows))
        if find_unusable_row(stored) is not None:
            raise DamagedIndex(f"{segment.facts.name}: a vector has NaN or numbers that are too large; {REMEDY}")
        return stored


def merge_tokens(folder: Path, name: str, parts: Sequence[KeptTokens], codec: ResidualCodec) -> TokenFacts:
    """Write the new folder folder/name. Memory: a chunk, and up to 16 bytes per token for the lists."""
    target = folder / name
    target.mkdir()
    lengths = np.concatenate([part.lengths() for part in parts])
    documents, tokens = len(lengths), int(lengths.sum())
    copied = [key for key in ("centroids", "codes", "scales", "fine") if getattr(parts[0].segment, key) is not None]
    nearest = np.empty(tokens, np.uint32)
    with ExitStack() as closing:
        writers = {}
        for key in copied:
            like = getattr(parts[0].segment, key)
            writer = ArrayWriter(target / f"{key}.npy", like.dtype, (tokens, *like.shape[1:]))
            writers[key] = closing.enter_context(writer)
        done = 0
        for part in parts:
            for rows in part.rows():
                nearest[done : done + len(rows)] = part.segment.read_centroids(rows)
                done += len(rows)
                for key, writer in writers.items():
                    writer.write(getattr(part.segment, key)[rows])
                part.forget()
        files = {f"{key}.npy": writer.close() for key, writer in writers.items()}
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    small = make_inverted_lists(nearest, offsets, len(codec.centroids))
    if parts[0].segment.offsets is not None:
        small["offsets"] = offsets
    files.update(write_arrays(target, small))
    fsync_path(target)
    return TokenFacts(name, documents, tokens, small["list_places"].dtype.name, files)
