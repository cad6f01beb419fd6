"""Writes dense vectors as one segment, with a graph if there are many."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import VectorsError
from ...files.new_folders import fsync_path
from ...representations.token_vectors import check_finite
from ...storage.arrays import ArrayWriter
from .graph import GraphMaker
from .segment import VECTORS, DenseFacts, Halves


def write_dense(
    target: Path,
    chunks: Iterable[npt.NDArray[Any]],
    documents: int,
    dimensions: int,
    with_graph: bool,
    threads: int,
) -> DenseFacts:
    """Write chunks of rows (n, d) into a new folder."""
    target.mkdir()
    graph = GraphMaker(dimensions, threads) if with_graph else None
    done = 0
    with ArrayWriter(target / VECTORS, np.float16, (documents, dimensions)) as writer:
        for chunk in chunks:
            rows = _to_halves(chunk, dimensions, done)
            writer.write(rows)
            if graph is not None:
                graph.add(rows)
            done += len(rows)
        files = {VECTORS: writer.close()}
    made = None
    if graph is not None:
        made, graph_files = graph.write(target)
        files |= graph_files
    fsync_path(target)
    return DenseFacts(documents, dimensions, made, files)


def _to_halves(chunk: npt.NDArray[Any], dimensions: int, first_row: int) -> Halves:
    if chunk.ndim != 2 or chunk.shape[1] != dimensions:
        raise VectorsError(f"dense vectors have shape {chunk.shape}, expected (documents, {dimensions})")
    rows = np.asarray(chunk, np.float32)
    check_finite(rows, "the dense vectors", first_row)
    beyond = np.flatnonzero((np.abs(rows) > np.finfo(np.float16).max).any(axis=1))
    if beyond.size:
        given = f"the dense vectors: row {first_row + beyond[0]} exceeds float16"
        raise VectorsError(f"{given}, expected numbers up to 65504")
    return rows.astype(np.float16)
