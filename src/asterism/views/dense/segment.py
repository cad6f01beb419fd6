"""One dense vector per document: float16 rows, and a graph if there are many of them.

vectors (documents, d) float16, memory-mapped: used for scores and for merging.
levels, neighbours: faiss's HNSW graph (views/dense/graph.py), if the segment has many documents.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...storage.arrays import MappedFolder
from ...storage.facts import Facts, FileFacts
from ...storage.faults import damaged
from ..tokens.segment import MOST_DOCUMENTS
from .graph import FILES as GRAPH_FILES
from .graph import GraphFacts, OpenGraph, open_graph

WIDEST = 1 << 16
VECTORS = "vectors.npy"
FORMER_GRAPH = "graph.faiss"  # of format 2, never read: such segments compare all documents until they are merged

Floats = npt.NDArray[np.float32]
Halves = npt.NDArray[np.float16]


@dataclass(frozen=True)
class DenseFacts:
    """The manifest's entry for a dense segment; graph: None for few documents."""

    documents: int
    dimensions: int
    graph: GraphFacts | None
    files: FileFacts

    @classmethod
    def from_facts(cls, facts: Facts) -> DenseFacts:
        """Check and read the stored entry."""
        documents = facts.whole("documents", most=MOST_DOCUMENTS)
        graph = GraphFacts.from_facts(facts.part("graph"), documents) if facts.has("graph") else None
        former = FORMER_GRAPH in facts.part("files").content and "graph" not in facts.content
        names = [VECTORS, *GRAPH_FILES * (graph is not None), *[FORMER_GRAPH] * former]
        return cls(documents, facts.whole("dimensions", 1, WIDEST), graph, facts.files(names))


@dataclass(frozen=True)
class OpenDense:
    """vectors (documents, d), mapped; graph: None for few documents."""

    facts: DenseFacts
    folder: MappedFolder
    vectors: Halves
    graph: OpenGraph | None
    _made: list[Any] = field(default_factory=list, init=False, repr=False, compare=False)
    _guard: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False, compare=False)

    @property
    def has_graph(self) -> bool:
        """Whether the segment has a graph, as segments of many documents do."""
        return self.graph is not None

    def scores(self, query: Floats, places: npt.NDArray[np.int64]) -> Floats:
        """Query (d,), places (m,) -> (m,), row by row: a score does not depend on the other rows."""
        rows = self.vectors[places].astype(np.float32)
        scores = np.asarray(np.einsum("ij,j->i", rows, query), np.float32)
        if not np.isfinite(scores).all():
            raise damaged(self.folder.path, "has a vector with NaN or infinity")
        return scores

    def get_index(self) -> Any:
        """The faiss index: the graph, or a flat index for few documents. Made once, at the first search."""
        with self._guard:
            if not self._made:
                self._made.append(self.graph.make_index(self.vectors) if self.graph else make_flat_index(self.vectors))
            return self._made[0]


def make_flat_index(rows: Halves) -> Any:
    """Rows (n, d) -> a flat faiss index of a copy, which compares all rows."""
    import faiss

    flat = faiss.IndexScalarQuantizer(rows.shape[1], faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
    flat.add_sa_codes(np.ascontiguousarray(rows).view(np.uint8))  # its codes are the float16 values
    return flat


def open_dense(target: Path, facts: DenseFacts) -> OpenDense:
    """Map the vectors and the graph."""
    inside = MappedFolder(target, facts.files)
    vectors = inside.array("vectors", np.float16, (facts.documents, facts.dimensions))
    graph = open_graph(inside, facts.graph, facts.documents) if facts.graph is not None else None
    return OpenDense(facts, inside, vectors, graph)
