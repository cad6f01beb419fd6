"""Writes token vectors as one segment, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import VectorsError
from ...files.new_folders import fsync_path
from ...kernels import _native
from ...representations.token_vectors import TokenVectors, check_finite
from ...settings import TokenBuild
from ...storage.arrays import ArrayWriter, write_arrays
from ..in_order import map_in_order
from .residual_codec import ResidualCodec
from .segment import MOST_DOCUMENTS, TokenFacts, choose_stored_type

LARGEST_HALF = float(np.finfo(np.float16).max)
ROTATED = 64.0  # no coordinate of up to 4096 dimensions is larger than this times the largest rotated one
CHANGED = "the vectors changed between the first reading and the second, expected the same ones twice"


def write_tokens(
    folder: Path,
    name: str,
    chunks: Iterable[TokenVectors],
    documents: int,
    tokens: int,
    codec: ResidualCodec,
    settings: TokenBuild,
    threads: int,
) -> TokenFacts:
    """Encode chunks into folder/name. Memory: two chunks per thread, and up to 16 bytes per token for lists."""
    if documents > MOST_DOCUMENTS:
        raise VectorsError(f"{documents} documents were given, expected at most {MOST_DOCUMENTS} in one segment")
    target = folder / name
    target.mkdir()
    coded = codec.bits < 16
    shapes: dict[str, tuple[npt.DTypeLike, tuple[int, ...]]] = {
        "centroids": (np.uint32, (tokens,)),
        "codes": (choose_stored_type(codec.bits), (tokens, codec.row_bytes if coded else codec.dimensions)),
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
        nearest, offsets = _encode_chunks(writers, chunks, (documents, tokens), codec, settings, threads)
        files = {f"{key}.npy": writer.close() for key, writer in writers.items()}
    small = make_inverted_lists(nearest, offsets, len(codec.centroids))
    if not settings.fixed:
        small["offsets"] = offsets
    files.update(write_arrays(target, small))
    fsync_path(target)
    return TokenFacts(name, documents, tokens, small["list_places"].dtype.name, files)


def _encode_chunks(
    writers: dict[str, ArrayWriter],
    chunks: Iterable[TokenVectors],
    counts: tuple[int, int],
    codec: ResidualCodec,
    settings: TokenBuild,
    threads: int,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Write all chunks; `counts` is (documents, tokens). Returns the tokens' centroids and the documents' offsets."""
    documents, tokens = counts
    all_nearest = np.empty(tokens, np.uint32)
    offsets = np.zeros(documents + 1, np.int64)

    def place_chunks() -> Iterator[tuple[TokenVectors, int]]:
        """Each chunk with its first row, after a check that it fits the announced counts."""
        seen_documents = seen_tokens = 0
        for chunk in chunks:
            ends = slice(seen_documents + 1, seen_documents + len(chunk) + 1)
            if seen_tokens + len(chunk.flat) > tokens or seen_documents + len(chunk) > documents:
                raise VectorsError(CHANGED)
            if settings.fixed and (np.diff(chunk.offsets) != settings.fixed).any():
                raise VectorsError(
                    f"a document does not have {settings.fixed} vectors, which fixed={settings.fixed} requires"
                )
            offsets[ends] = seen_tokens + chunk.offsets[1:]
            yield chunk, seen_tokens
            seen_documents += len(chunk)
            seen_tokens += len(chunk.flat)
        if (seen_documents, seen_tokens) != (documents, tokens):
            raise VectorsError(CHANGED)

    def encode(placed_chunk: tuple[TokenVectors, int]) -> tuple[int, dict[str, npt.NDArray[Any]]]:
        chunk, first_row = placed_chunk
        return first_row, _encode_chunk(chunk, first_row, codec, settings)

    for first_row, arrays in map_in_order(encode, place_chunks(), threads):
        nearest = arrays["centroids"]
        all_nearest[first_row : first_row + len(nearest)] = nearest
        for name, rows in arrays.items():
            writers[name].write(rows)
    return all_nearest, offsets


def _encode_chunk(
    chunk: TokenVectors, first_row: int, codec: ResidualCodec, settings: TokenBuild
) -> dict[str, npt.NDArray[Any]]:
    """A chunk of n vectors -> the rows (n, …) of each array of the segment; on one thread."""
    transformed = codec.transform(chunk.flat, 1)
    check_finite(transformed, "the vectors", first_row)  # NaN and infinity remain
    halves = settings.bits == 16 or settings.refinement == "float16"
    largest = ROTATED * np.abs(transformed).max(initial=0) + np.abs(codec.shared.mean).max()  # a bound: stretch >= 1
    if halves and largest > LARGEST_HALF:
        _refuse_beyond_float16(chunk, first_row)
    nearest = codec.find_nearest(transformed, 1)
    arrays: dict[str, npt.NDArray[Any]] = {"centroids": nearest, "codes": chunk.flat}
    if codec.bits < 16:
        arrays["codes"], arrays["scales"] = codec.encode(transformed, nearest, 1)
    if settings.refinement == "float16":
        arrays["fine"] = chunk.flat
    return arrays


def _refuse_beyond_float16(chunk: TokenVectors, first_row: int) -> None:
    beyond = np.flatnonzero((np.abs(chunk.flat) > LARGEST_HALF).any(axis=1))
    if beyond.size:
        raise VectorsError(f"the vectors: row {first_row + beyond[0]} exceeds float16, expected numbers up to 65504")


def make_inverted_lists(
    nearest: npt.NDArray[np.uint32], offsets: npt.NDArray[np.int64], centroids: int
) -> dict[str, npt.NDArray[Any]]:
    """nearest (T,), offsets (D + 1,) -> tokens by centroid: starts (K + 1,), documents (T,), places (T,)."""
    starts, documents, places = _native.inverted_lists(nearest, offsets, centroids)
    longest = int(np.diff(offsets).max(initial=1))
    return {
        "list_starts": starts,
        "list_documents": documents,
        "list_places": places.astype(choose_place_type(longest)),
    }


def choose_place_type(longest: int) -> np.dtype[np.unsignedinteger]:
    """The smallest unsigned type for the places in a document of `longest` tokens."""
    return np.min_scalar_type(longest - 1)
