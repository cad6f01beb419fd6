"""Several segments of one codec as one, without the dead: codes are copied, lists are made anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import DamagedIndex
from ...representations.token_vectors import FloatArray, TokenVectors, find_unusable_row
from ...storage.arrays import ArrayWriter, forget_pages, write_arrays
from ...storage.faults import REMEDY
from ...storage.folders import fsync_folder
from .residual_codec import ResidualCodec
from .segment import OpenSegment, SegmentFacts, inverted_lists

CHUNK_TOKENS = 1 << 14

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Living:
    """A segment and which of its documents are alive (documents,)."""

    segment: OpenSegment
    alive: Mask

    def lengths(self) -> npt.NDArray[np.int64]:
        """(living documents,) vectors of each."""
        return np.diff(self.segment.all_offsets())[self.alive]

    def rows(self) -> Iterator[npt.NDArray[np.int64]]:
        """The places of the living documents' vectors, in order, in chunks that never cut a document."""
        offsets = self.segment.all_offsets()
        begins, lengths = offsets[:-1][self.alive], self.lengths()
        ends = np.cumsum(lengths)
        first = 0
        while first < len(begins):
            done = ends[first] - lengths[first]
            last = max(first + 1, int(np.searchsorted(ends, done + CHUNK_TOKENS, side="right")))
            chosen = lengths[first:last]
            starts = np.repeat(begins[first:last] - np.concatenate([[0], np.cumsum(chosen)[:-1]]), chosen)
            yield starts + np.arange(len(starts))
            first = last

    def forget(self) -> None:
        """What is read once, front to back, need not stay in memory."""
        for array in (self.segment.codes, self.segment.fine, self.segment.scales, self.segment.centroids):
            forget_pages(array)


class LivingVectors:
    """The vectors of living documents, decoded where they are codes; can be read any number of times."""

    def __init__(self, parts: Sequence[Living], codec: ResidualCodec) -> None:
        """All parts have this codec."""
        self._parts = parts
        self._codec = codec

    def __iter__(self) -> Iterator[TokenVectors]:
        """Chunks of whole documents."""
        for part in self._parts:
            lengths, first = part.lengths(), 0
            for rows in part.rows():
                ends = np.cumsum(lengths[first:])
                count = int(np.searchsorted(ends, len(rows), side="right"))
                yield TokenVectors(self._floats(part.segment, rows), np.concatenate([[0], ends[:count]]))
                part.forget()
                first += count

    def _floats(self, segment: OpenSegment, rows: npt.NDArray[np.int64]) -> FloatArray:
        stored: npt.NDArray[Any] = segment.codes[rows] if segment.fine is None else segment.fine[rows]
        if segment.scales is not None and segment.fine is None:
            stored = self._codec.decode(stored, segment.scales[rows], segment.centroids_of(rows))
        if find_unusable_row(stored) is not None:
            raise DamagedIndex(f"{segment.facts.name}: a vector is beyond what was stored; {REMEDY}")
        return stored


def merge_segments(folder: Path, name: str, parts: Sequence[Living], codec: ResidualCodec) -> SegmentFacts:
    """Into folder/name, which does not exist; memory is a chunk, and up to 16 bytes a token for the lists."""
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
                nearest[done : done + len(rows)] = part.segment.centroids_of(rows)
                done += len(rows)
                for key, writer in writers.items():
                    writer.write(getattr(part.segment, key)[rows])
                part.forget()
        files = {f"{key}.npy": writer.close() for key, writer in writers.items()}
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    small = inverted_lists(nearest, offsets, len(codec.centroids))
    if parts[0].segment.offsets is not None:
        small["offsets"] = offsets
    files.update(write_arrays(target, small))
    fsync_folder(target)
    return SegmentFacts(name, documents, tokens, small["list_places"].dtype.name, files)


def first_young(sizes: Sequence[int]) -> int:
    """Where those last segments begin that should be one: each at most twice as large as all after it.

    Merged so, there are never many more than log2(vectors) of them.
    """
    first = len(sizes) - 1
    total = sizes[-1] if sizes else 0
    while first > 0 and sizes[first - 1] <= 2 * total:
        first -= 1
        total += sizes[first]
    return max(first, 0)
