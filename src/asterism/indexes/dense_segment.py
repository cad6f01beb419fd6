"""One dense vector a document: float16 rows, and for many of them a graph that finds the nearest.

vectors (documents, d) float16, memory-mapped: what scores come from, and merging.
graph.faiss, for MANY documents and more: faiss's HNSW over its own float16 copy of them, memory-mapped.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import VectorsError
from ..representations.multi_vector import checked_finite
from .segment_merge import Mask
from .storage import ArrayWriter, FileFacts, forget_pages, fsync_folder, map_array, verify_file

MANY = 50_000
LINKS = 32
EXPLORED_TO_BUILD = 200
CHUNK_ROWS = 4096
VECTORS, GRAPH = "vectors.npy", "graph.faiss"

Floats = npt.NDArray[np.float32]
Halves = npt.NDArray[np.float16]


@dataclass(frozen=True)
class DenseFacts:
    """What the manifest says of a dense segment."""

    documents: int
    dimensions: int
    files: FileFacts

    def as_json(self) -> dict[str, Any]:
        """For the manifest."""
        return asdict(self)


@dataclass(frozen=True)
class OpenDense:
    """vectors (documents, d), mapped; `path` is the folder."""

    path: Path
    facts: DenseFacts
    vectors: Halves
    _made: list[Any] = field(default_factory=list, init=False, repr=False, compare=False)
    _guard: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False, compare=False)

    @property
    def has_graph(self) -> bool:
        """Whether there are many documents."""
        return GRAPH in self.facts.files

    def scores(self, query: Floats, places: npt.NDArray[np.int64]) -> Floats:
        """Query (d,), places (m,) -> (m,), row by row: a score does not depend on what else is scored."""
        rows = self.vectors[places].astype(np.float32)
        return np.asarray(np.einsum("ij,j->i", rows, query), np.float32)

    def index(self) -> Any:
        """Faiss's index: the graph, or for few documents all of them. Made at the first search, once."""
        with self._guard:
            if not self._made:
                self._made.append(self._graph() if self.has_graph else flat_index(self.vectors))
            return self._made[0]

    def _graph(self) -> Any:
        """Faiss trusts what it reads, so that the file is verified before."""
        import faiss

        verify_file(self.path / GRAPH, self.facts.files[GRAPH])
        return faiss.read_index(str(self.path / GRAPH), faiss.IO_FLAG_MMAP_IFC)


def flat_index(rows: Halves) -> Any:
    """Rows (n, d) -> faiss's index of a copy, which compares all."""
    import faiss

    flat = faiss.IndexScalarQuantizer(rows.shape[1], faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
    flat.add_sa_codes(np.ascontiguousarray(rows).view(np.uint8))  # its codes are the halves themselves
    return flat


def write_dense(
    target: Path, chunks: Iterable[npt.NDArray[Any]], documents: int, dimensions: int, threads: int
) -> DenseFacts:
    """Rows (n, d), chunk after chunk, into a folder that does not exist."""
    target.mkdir()
    graph = _Graph(dimensions, threads) if documents >= MANY else None
    done = 0
    with ArrayWriter(target / VECTORS, np.float16, (documents, dimensions)) as writer:
        for chunk in chunks:
            rows = _as_halves(chunk, dimensions, done)
            writer.write(rows)
            if graph is not None:
                graph.add(rows)
            done += len(rows)
        files = {VECTORS: writer.close()}
    if graph is not None:
        files[GRAPH] = graph.write(target / GRAPH)
    fsync_folder(target)
    return DenseFacts(documents, dimensions, files)


def merge_dense(target: Path, parts: Sequence[tuple[OpenDense, Mask]], threads: int) -> DenseFacts:
    """The living documents of several segments, in order, as one."""
    documents = sum(int(alive.sum()) for _, alive in parts)
    return write_dense(target, _living_rows(parts), documents, parts[0][0].facts.dimensions, threads)


def _living_rows(parts: Sequence[tuple[OpenDense, Mask]]) -> Iterator[Halves]:
    for part, alive in parts:
        places = np.flatnonzero(alive)
        for start in range(0, len(places), CHUNK_ROWS):
            yield part.vectors[places[start : start + CHUNK_ROWS]]
        forget_pages(part.vectors)


def open_dense(target: Path, facts: DenseFacts) -> OpenDense:
    """Map the vectors."""
    return OpenDense(
        target, facts, map_array(target / VECTORS, facts.files, np.float16, (facts.documents, facts.dimensions))
    )


def _as_halves(chunk: npt.NDArray[Any], dimensions: int, first_row: int) -> Halves:
    if chunk.ndim != 2 or chunk.shape[1] != dimensions:
        raise VectorsError(f"dense vectors have shape {chunk.shape}, expected (documents, {dimensions})")
    rows = np.asarray(chunk, np.float32)
    checked_finite(rows, "the dense vectors", first_row)
    beyond = np.flatnonzero((np.abs(rows) > np.finfo(np.float16).max).any(axis=1))
    if beyond.size:
        given = f"the dense vectors: row {first_row + beyond[0]} is beyond float16"
        raise VectorsError(f"{given}, expected numbers up to 65504")
    return rows.astype(np.float16)


class _Graph:
    """Faiss's HNSW in the making."""

    def __init__(self, dimensions: int, threads: int) -> None:
        import faiss

        self._threads = threads
        self._index = faiss.IndexHNSWSQ(dimensions, faiss.ScalarQuantizer.QT_fp16, LINKS, faiss.METRIC_INNER_PRODUCT)
        self._index.hnsw.efConstruction = EXPLORED_TO_BUILD

    def add(self, rows: Halves) -> None:
        """In the order of the documents."""
        import faiss

        faiss.omp_set_num_threads(self._threads)
        self._index.add(rows.astype(np.float32))

    def write(self, path: Path) -> dict[str, int]:
        """Through our own file, so that a full disk is told as such; returns its size and checksum."""
        import faiss

        with open(path, "xb") as file:
            written = _Written(file.write)
            try:
                faiss.write_index(self._index, faiss.PyCallbackIOWriter(written.take))
            except Exception:  # whatever faiss makes of an error in a callback
                if written.error is not None:
                    raise written.error from None
                raise
            file.flush()
            os.fsync(file.fileno())
            return {"bytes": file.tell(), "crc32": written.checksum}


class _Written:
    """What faiss writes, with its checksum; an error of the file is kept, because faiss forgets it."""

    def __init__(self, write: Callable[[bytes], int]) -> None:
        self._write = write
        self.checksum = 0
        self.error: OSError | None = None

    def take(self, data: bytes) -> None:
        """The next piece."""
        try:
            self._write(data)
        except OSError as error:
            self.error = error
            raise
        self.checksum = zlib.crc32(data, self.checksum)
