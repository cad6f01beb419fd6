"""Faiss's HNSW graph as our own arrays: exported from faiss, and checked before they are imported into it again.

levels (documents,) uint8: layers of each document · neighbours (links,) int32: of each document, layer by layer, -1 for
none; how many each document has follows from its layers · entry: the document where a search begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...storage.arrays import MappedFolder, write_arrays
from ...storage.facts import Facts, FileFacts
from ...storage.faults import damaged

LINKS = 32
EXPLORED_TO_BUILD = 200
MOST_LAYERS = 32
FILES = ("levels.npy", "neighbours.npy")

Halves = npt.NDArray[np.float16]


@dataclass(frozen=True)
class GraphFacts:
    """The manifest's entry for a graph."""

    links: int
    entry: int

    @classmethod
    def from_facts(cls, facts: Facts, documents: int) -> GraphFacts:
        """Check and read the stored entry."""
        return cls(facts.whole("links"), facts.whole("entry", most=max(0, documents - 1)))


class GraphMaker:
    """Builds a graph."""

    def __init__(self, dimensions: int, threads: int) -> None:
        """An empty graph."""
        self._threads = threads
        self._index = _make_empty_index(dimensions)
        self._index.hnsw.efConstruction = EXPLORED_TO_BUILD

    def add(self, rows: Halves) -> None:
        """Rows (n, d), in the order of the documents."""
        import faiss

        faiss.omp_set_num_threads(self._threads)
        self._index.add(rows.astype(np.float32))

    def write(self, folder: Path) -> tuple[GraphFacts, FileFacts]:
        """Write the arrays into the folder of the vectors."""
        import faiss

        graph = self._index.hnsw
        levels = faiss.vector_to_array(graph.levels).astype(np.uint8)
        neighbours = faiss.vector_to_array(graph.neighbors)
        files = write_arrays(folder, {"levels": levels, "neighbours": neighbours})
        return GraphFacts(len(neighbours), int(graph.entry_point)), files


@dataclass(frozen=True)
class OpenGraph:
    """levels (documents,) and neighbours (links,), mapped."""

    path: Path
    entry: int
    levels: npt.NDArray[np.uint8]
    neighbours: npt.NDArray[np.int32]

    def make_index(self, vectors: Halves) -> Any:
        """A faiss index of the graph and of a copy of the vectors (documents, d)."""
        import faiss

        levels, neighbours = np.array(self.levels), np.array(self.neighbours)  # copied before the checks
        index = _make_empty_index(vectors.shape[1])
        offsets = _check_offsets(self.path, levels, neighbours, index)
        top = int(levels.max())
        if levels[self.entry] != top:
            raise damaged(self.path, "has a graph whose entry is not in the top layer")
        faiss.copy_array_to_vector(levels.astype(np.int32), index.hnsw.levels)
        faiss.copy_array_to_vector(offsets, index.hnsw.offsets)
        faiss.copy_array_to_vector(neighbours, index.hnsw.neighbors)
        index.hnsw.entry_point = self.entry
        index.hnsw.max_level = top - 1
        faiss.downcast_index(index.storage).add_sa_codes(np.ascontiguousarray(vectors).view(np.uint8))
        index.ntotal = len(vectors)
        return index


def open_graph(folder: MappedFolder, facts: GraphFacts, documents: int) -> OpenGraph:
    """Map the arrays."""
    levels = folder.array("levels", np.uint8, (documents,))
    return OpenGraph(folder.path, facts.entry, levels, folder.array("neighbours", np.int32, (facts.links,)))


def _check_offsets(
    folder: Path, levels: npt.NDArray[np.uint8], neighbours: npt.NDArray[np.int32], index: Any
) -> npt.NDArray[np.uint64]:
    """(documents + 1,) where each document's neighbours begin. Checks everything, because faiss checks nothing."""
    import faiss

    room = faiss.vector_to_array(index.hnsw.cum_nneighbor_per_level)  # (layers + 1,) neighbours up to each layer
    most = min(MOST_LAYERS, len(room) - 1)
    if not len(levels) or levels.min() < 1 or levels.max() > most:
        raise damaged(folder, f"has a graph with layers outside 1 to {most}")
    offsets = np.concatenate([[0], np.cumsum(room[levels], dtype=np.int64)])
    if offsets[-1] != len(neighbours):
        raise damaged(folder, "has a graph whose links do not match its documents")
    if int(neighbours.min()) < -1 or int(neighbours.max()) >= len(levels):
        raise damaged(folder, "has a graph that links to documents that do not exist")
    for layer in range(2, int(levels.max()) + 1):
        begins = offsets[:-1][levels >= layer]
        linked = neighbours[begins[:, None] + np.arange(room[layer - 1], room[layer])]
        if (levels[linked[linked >= 0]] < layer).any():
            raise damaged(folder, "has a graph that links to documents that are not in that layer")
    return offsets.astype(np.uint64)


def _make_empty_index(dimensions: int) -> Any:
    import faiss

    return faiss.IndexHNSWSQ(dimensions, faiss.ScalarQuantizer.QT_fp16, LINKS, faiss.METRIC_INNER_PRODUCT)
