"""One immutable part of a token index: codes in document order, and for each centroid its tokens.

Arrays (tokens T, documents D, centroids K):
  centroids (T,) uint32 · codes (T, bytes) uint8, or (T, d) floats · scales (T,) float16, for codes
  offsets (D + 1,) int64, unless every document has the same number of vectors
  list_starts (K + 1,) int64 · list_documents (T,) uint32, ascending within a list · list_places (T,): the token's
  place within its document, in the smallest unsigned type that holds them all · fine (T, d) float16, with refinement
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import DamagedIndex
from ...kernels import _native
from ...settings import TokenBuild
from ...storage.arrays import MappedFolder
from ...storage.facts import Facts, FileFacts
from ...storage.faults import REMEDY, damaged
from .residual_codec import ResidualCodec

MOST_DOCUMENTS = 2**32 - 2  # numbered in 32 bits
LISTS = ("list_starts", "list_documents", "list_places")
PLACE_TYPES = ("uint8", "uint16", "uint32")


@dataclass(frozen=True)
class TokenFacts:
    """The manifest's entry for a segment."""

    name: str
    documents: int
    tokens: int
    place_type: str
    files: FileFacts

    @classmethod
    def from_facts(cls, facts: Facts, name: str, bits: int, settings: TokenBuild) -> TokenFacts:
        """The stored entry of the segment `name`."""
        if facts.text("name") != name:
            raise damaged(facts.where, f"describes {facts.text('name')[:60]!r}, expected {name!r}")
        some = {"scales": bits < 16, "fine": settings.refinement != "none", "offsets": not settings.fixed}
        files = [*LISTS, "centroids", "codes", *(file for file, there in some.items() if there)]
        return cls(
            name,
            facts.whole("documents", most=MOST_DOCUMENTS),
            facts.whole("tokens"),
            facts.text("place_type", PLACE_TYPES),
            facts.files(f"{file}.npy" for file in files),
        )


def choose_stored_type(bits: int) -> np.dtype[Any]:
    """The type of the `codes` array."""
    return np.dtype({16: np.float16, 32: np.float32}.get(bits, np.uint8))


@dataclass(frozen=True)
class OpenTokens:
    """The arrays of a segment, memory-mapped, with consistent shapes."""

    facts: TokenFacts
    folder: MappedFolder
    fixed: int
    codes: npt.NDArray[Any]
    centroids: npt.NDArray[np.uint32]
    scales: npt.NDArray[np.float16] | None
    offsets: npt.NDArray[np.int64] | None
    list_starts: npt.NDArray[np.int64]
    list_documents: npt.NDArray[np.uint32]
    list_places: npt.NDArray[np.unsignedinteger]
    fine: npt.NDArray[np.float16] | None

    def to_native(self) -> _native.Segment:
        """The arrays for the native code."""
        return _native.Segment(
            documents=self.facts.documents,
            fixed=self.fixed,
            offsets=self.offsets,
            centroids=self.centroids,
            codes=self.codes.view(np.uint8),
            scales=None if self.scales is None else self.scales.view(np.uint16),
            list_starts=self.list_starts,
            list_documents=self.list_documents,
            list_places=self.list_places,
            fine=None if self.fine is None else self.fine.view(np.uint16),
        )

    def lengths(self) -> npt.NDArray[np.int64]:
        """(documents,) the number of vectors of each document."""
        if self.offsets is None:
            return np.full(self.facts.documents, self.fixed, np.int64)
        return np.maximum(np.diff(self.offsets), 0)  # offsets are checked where they are followed

    def locate_tokens(self, document: int) -> slice:
        """The rows of a document."""
        if self.offsets is None:
            return slice(document * self.fixed, (document + 1) * self.fixed)
        begin, end = int(self.offsets[document]), int(self.offsets[document + 1])
        if not 0 <= begin <= end <= self.facts.tokens:
            raise DamagedIndex(f"{self.facts.name}: a document's offsets lie outside its segment; {REMEDY}")
        return slice(begin, end)

    def read_offsets(self) -> npt.NDArray[np.int64]:
        """(documents + 1,) where each document's vectors begin, checked."""
        if self.offsets is None:
            return np.arange(self.facts.documents + 1, dtype=np.int64) * self.fixed
        offsets = np.array(self.offsets)
        if offsets[0] != 0 or offsets[-1] != self.facts.tokens or (offsets[1:] < offsets[:-1]).any():
            raise DamagedIndex(f"{self.facts.name}: the documents' offsets are not in order; {REMEDY}")
        return offsets

    def read_centroids(self, rows: slice | npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
        """The centroids of some rows, checked to exist."""
        used = self.centroids[rows]
        if used.size and int(used.max()) >= len(self.list_starts) - 1:
            raise DamagedIndex(f"{self.facts.name}: a token names a centroid that does not exist; {REMEDY}")
        return used


def open_tokens(folder: Path, facts: TokenFacts, codec: ResidualCodec, settings: TokenBuild) -> OpenTokens:
    """Map the arrays of folder/name and check their shapes."""
    target = folder / facts.name
    if settings.fixed and facts.documents * settings.fixed != facts.tokens:
        raise damaged(target, f"has {facts.tokens} vectors for {facts.documents} documents")
    inside = MappedFolder(target, facts.files)
    mapped = inside.array
    coded, tokens = codec.bits < 16, (facts.tokens,)
    columns = codec.row_bytes if coded else codec.dimensions
    refined = settings.refinement == "float16"
    return OpenTokens(
        facts=facts,
        folder=inside,
        fixed=settings.fixed,
        codes=mapped("codes", choose_stored_type(codec.bits), (facts.tokens, columns)),
        centroids=mapped("centroids", np.uint32, tokens),
        scales=mapped("scales", np.float16, tokens) if coded else None,
        offsets=None if settings.fixed else mapped("offsets", np.int64, (facts.documents + 1,)),
        list_starts=mapped("list_starts", np.int64, (len(codec.centroids) + 1,)),
        list_documents=mapped("list_documents", np.uint32, tokens),
        list_places=mapped("list_places", facts.place_type, tokens),
        fine=mapped("fine", np.float16, (facts.tokens, codec.dimensions)) if refined else None,
    )
