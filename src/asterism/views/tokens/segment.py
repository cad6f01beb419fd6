"""One immutable part of a token index: codes in document order, and for each centroid the tokens that use it.

Arrays (tokens T, documents D, centroids K):
  centroids (T,) uint32 · codes (T, bytes) uint8, or (T, d) floats · scales (T,) float16, for codes
  offsets (D + 1,) int64, unless every document has the same number of vectors
  list_starts (K + 1,) int64 · list_documents (T,) uint32, ascending within a list · list_places (T,): the token's
  place within its document, in the smallest unsigned type that holds them all · fine (T, d) float16, with refinement
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import DamagedIndex, VectorsError
from ...kernels import _native
from ...representations.token_vectors import TokenVectors, check_finite
from ...settings import TokenBuild
from ...storage.arrays import ArrayWriter, MappedFolder, write_arrays
from ...storage.facts import Facts, FileFacts
from ...storage.faults import REMEDY, damaged
from ...storage.folders import fsync_folder
from ..in_order import in_order
from .residual_codec import ResidualCodec

SAFE_IN_FLOAT16 = 1024.0  # no coordinate of up to 4096 dimensions is larger than 64 times the largest rotated one
MOST_DOCUMENTS = 2**32 - 2  # numbered in 32 bits
LISTS = ("list_starts", "list_documents", "list_places")
PLACE_TYPES = ("uint8", "uint16", "uint32")
CHANGED = "the vectors changed between the first reading and the second, expected the same ones twice"


@dataclass(frozen=True)
class SegmentFacts:
    """What the manifest says of a segment."""

    name: str
    documents: int
    tokens: int
    place_type: str
    files: FileFacts

    def as_json(self) -> dict[str, Any]:
        """For the manifest."""
        return asdict(self)

    @classmethod
    def from_facts(cls, facts: Facts, name: str, bits: int, settings: TokenBuild) -> SegmentFacts:
        """As it was stored for a segment of this name."""
        if facts.text("name") != name:
            raise damaged(facts.where, f"is that of {facts.text('name')[:60]!r}, expected {name!r}")
        some = {"scales": bits < 16, "fine": settings.refinement != "none", "offsets": not settings.fixed}
        files = [*LISTS, "centroids", "codes", *(file for file, there in some.items() if there)]
        return cls(
            name,
            facts.whole("documents", most=MOST_DOCUMENTS),
            facts.whole("tokens"),
            facts.text("place_type", PLACE_TYPES),
            facts.files(f"{file}.npy" for file in files),
        )


def stored_dtype(bits: int) -> np.dtype[Any]:
    """Of the `codes` array."""
    return np.dtype({16: np.float16, 32: np.float32}.get(bits, np.uint8))


def write_segment(
    folder: Path,
    name: str,
    chunks: Iterable[TokenVectors],
    documents: int,
    tokens: int,
    codec: ResidualCodec,
    settings: TokenBuild,
    threads: int,
) -> SegmentFacts:
    """Encode chunk after chunk into folder/name; memory is a chunk, and up to 16 bytes a token for the lists."""
    if documents > MOST_DOCUMENTS:
        raise VectorsError(f"{documents} documents were given, expected at most {MOST_DOCUMENTS} in one segment")
    target = folder / name
    target.mkdir()
    coded = codec.bits < 16
    shapes: dict[str, tuple[npt.DTypeLike, tuple[int, ...]]] = {
        "centroids": (np.uint32, (tokens,)),
        "codes": (stored_dtype(codec.bits), (tokens, codec.row_bytes if coded else codec.dimensions)),
    }
    if coded:
        shapes["scales"] = (np.float16, (tokens,))
    if settings.refinement == "float16":
        shapes["fine"] = (np.float16, (tokens, codec.dimensions))
    with ExitStack() as closing:
        writers = {
            key: closing.enter_context(ArrayWriter(target / f"{key}.npy", dtype, shape))
            for key, (dtype, shape) in shapes.items()
        }
        nearest, offsets = _encode_chunks(chunks, documents, tokens, codec, settings, threads, writers)
        files = {f"{key}.npy": writer.close() for key, writer in writers.items()}
    small = inverted_lists(nearest, offsets, len(codec.centroids))
    if not settings.fixed:
        small["offsets"] = offsets
    files.update(write_arrays(target, small))
    fsync_folder(target)
    return SegmentFacts(name, documents, tokens, small["list_places"].dtype.name, files)


def _encode_chunks(
    chunks: Iterable[TokenVectors],
    documents: int,
    tokens: int,
    codec: ResidualCodec,
    settings: TokenBuild,
    threads: int,
    writers: dict[str, ArrayWriter],
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Feed the writers; returns the centroid of every token and the documents' offsets."""
    all_nearest = np.empty(tokens, np.uint32)
    offsets = np.zeros(documents + 1, np.int64)

    def placed() -> Iterator[tuple[TokenVectors, int]]:
        """Each chunk with its first row, once it is known to have room."""
        seen_documents = seen_tokens = 0
        for chunk in chunks:
            ends = slice(seen_documents + 1, seen_documents + len(chunk) + 1)
            if seen_tokens + len(chunk.flat) > tokens or seen_documents + len(chunk) > documents:
                raise VectorsError(CHANGED)
            if settings.fixed and (np.diff(chunk.offsets) != settings.fixed).any():
                raise VectorsError(
                    f"a document does not have {settings.fixed} vectors, as fixed={settings.fixed} promises"
                )
            offsets[ends] = seen_tokens + chunk.offsets[1:]
            yield chunk, seen_tokens
            seen_documents += len(chunk)
            seen_tokens += len(chunk.flat)
        if (seen_documents, seen_tokens) != (documents, tokens):
            raise VectorsError(CHANGED)

    def encoded(placed_chunk: tuple[TokenVectors, int]) -> tuple[int, dict[str, npt.NDArray[Any]]]:
        chunk, first_row = placed_chunk
        return first_row, _encoded(chunk, first_row, codec, settings)

    for first_row, arrays in in_order(encoded, placed(), threads):
        nearest = arrays["centroids"]
        all_nearest[first_row : first_row + len(nearest)] = nearest
        for name, rows in arrays.items():
            writers[name].write(rows)
    return all_nearest, offsets


def _encoded(
    chunk: TokenVectors, first_row: int, codec: ResidualCodec, settings: TokenBuild
) -> dict[str, npt.NDArray[Any]]:
    """What the arrays of a segment get of a chunk (n vectors), each (n, …); on one thread."""
    rotated = codec.rotated(chunk.flat, 1)
    check_finite(rotated, "the vectors", first_row)  # what is not finite, rotation does not make finite
    halves = settings.bits == 16 or settings.refinement == "float16"
    if halves and np.abs(rotated).max(initial=0) > SAFE_IN_FLOAT16:
        _refuse_beyond_float16(chunk, first_row)
    nearest = codec.nearest(rotated, 1)
    arrays: dict[str, npt.NDArray[Any]] = {"centroids": nearest, "codes": chunk.flat}
    if codec.bits < 16:
        arrays["codes"], arrays["scales"] = codec.encode(rotated, nearest, 1)
    if settings.refinement == "float16":
        arrays["fine"] = chunk.flat
    return arrays


def _refuse_beyond_float16(chunk: TokenVectors, first_row: int) -> None:
    beyond = np.flatnonzero((np.abs(chunk.flat) > np.finfo(np.float16).max).any(axis=1))
    if beyond.size:
        raise VectorsError(f"the vectors: row {first_row + beyond[0]} is beyond float16, expected numbers up to 65504")


def inverted_lists(
    nearest: npt.NDArray[np.uint32], offsets: npt.NDArray[np.int64], centroids: int
) -> dict[str, npt.NDArray[Any]]:
    """nearest (T,), offsets (D + 1,) -> tokens by centroid: starts (K + 1,), documents (T,), places (T,)."""
    starts, documents, places = _native.inverted_lists(nearest, offsets, centroids)
    longest = int(np.diff(offsets).max(initial=1))
    return {"list_starts": starts, "list_documents": documents, "list_places": places.astype(place_dtype(longest))}


def place_dtype(longest: int) -> np.dtype[np.unsignedinteger]:
    """The smallest type that numbers the tokens of a document of `longest`."""
    return np.min_scalar_type(longest - 1)


@dataclass(frozen=True)
class OpenSegment:
    """The arrays of a segment, memory-mapped, with shapes that belong together."""

    facts: SegmentFacts
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

    def native(self) -> _native.Segment:
        """As the native code takes it."""
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

    def tokens_of(self, document: int) -> slice:
        """The rows of a document."""
        if self.offsets is None:
            return slice(document * self.fixed, (document + 1) * self.fixed)
        begin, end = int(self.offsets[document]), int(self.offsets[document + 1])
        if not 0 <= begin <= end <= self.facts.tokens:
            raise DamagedIndex(f"{self.facts.name}: a document's offsets lie outside its segment; {REMEDY}")
        return slice(begin, end)

    def all_offsets(self) -> npt.NDArray[np.int64]:
        """(documents + 1,)."""
        if self.offsets is None:
            return np.arange(self.facts.documents + 1, dtype=np.int64) * self.fixed
        offsets = np.array(self.offsets)
        if offsets[0] != 0 or offsets[-1] != self.facts.tokens or (offsets[1:] < offsets[:-1]).any():
            raise DamagedIndex(f"{self.facts.name}: the documents' offsets are not in order; {REMEDY}")
        return offsets

    def centroids_of(self, rows: slice | npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
        """Of some tokens, all of which exist: whatever reads centroids by number asks here."""
        used = self.centroids[rows]
        if used.size and int(used.max()) >= len(self.list_starts) - 1:
            raise DamagedIndex(f"{self.facts.name}: a token names a centroid that does not exist; {REMEDY}")
        return used


def open_segment(folder: Path, facts: SegmentFacts, codec: ResidualCodec, settings: TokenBuild) -> OpenSegment:
    """Map the arrays of folder/name and check that their shapes belong together."""
    target = folder / facts.name
    if settings.fixed and facts.documents * settings.fixed != facts.tokens:
        raise damaged(target, f"has {facts.tokens} vectors for {facts.documents} documents")
    inside = MappedFolder(target, facts.files)
    mapped = inside.array
    coded, tokens = codec.bits < 16, (facts.tokens,)
    columns = codec.row_bytes if coded else codec.dimensions
    refined = settings.refinement == "float16"
    return OpenSegment(
        facts=facts,
        folder=inside,
        fixed=settings.fixed,
        codes=mapped("codes", stored_dtype(codec.bits), (facts.tokens, columns)),
        centroids=mapped("centroids", np.uint32, tokens),
        scales=mapped("scales", np.float16, tokens) if coded else None,
        offsets=None if settings.fixed else mapped("offsets", np.int64, (facts.documents + 1,)),
        list_starts=mapped("list_starts", np.int64, (len(codec.centroids) + 1,)),
        list_documents=mapped("list_documents", np.uint32, tokens),
        list_places=mapped("list_places", facts.place_type, tokens),
        fine=mapped("fine", np.float16, (facts.tokens, codec.dimensions)) if refined else None,
    )
