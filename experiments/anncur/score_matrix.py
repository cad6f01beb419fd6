"""All scores of a cross-encoder, computed once and kept: searches look them up, and the best are known exactly."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from asterism import load_pair_scorer

BLOCK = 10  # queries of a file
PAPER_TOLERANCE = 1.2e-3  # numpy's for the paper's 3,374 x 10,031 matrix, as a share of the largest singular value


def compute_matrix(
    model: Path, precision: str, queries: Sequence[str], items: Sequence[str], folder: Path
) -> npt.NDArray[np.float32]:
    """(queries, items). Blocks are files that appear whole, so that an interrupted run goes on with the next one."""
    folder.mkdir(parents=True, exist_ok=True)
    scorer, begin, done = None, time.perf_counter(), 0
    parts = []
    for start in range(0, len(queries), BLOCK):
        file = folder / f"{start:06d}.npy"
        if not file.exists():
            scorer = scorer or load_pair_scorer(model, precision=precision)
            block = queries[start : start + BLOCK]
            rows = np.stack([np.asarray(scorer.score(query, items), np.float32) for query in block])
            with open(file.with_suffix(".part"), "wb") as part:
                np.save(part, rows)
            os.replace(file.with_suffix(".part"), file)
            done += rows.size
            print(
                f"  {start + len(block)} of {len(queries)} queries, {done / (time.perf_counter() - begin):.0f} pairs/s"
            )
        parts.append(np.load(file))
    matrix = np.concatenate(parts)
    if matrix.shape != (len(queries), len(items)):
        raise SystemExit(f"{folder} holds scores of shape {matrix.shape}, expected {(len(queries), len(items))}")
    return matrix


def count_directions(matrix: npt.NDArray[np.float32]) -> tuple[int, int]:
    """(queries, items) -> the numerical rank at the paper's tolerance, and the directions of 99 % of the variance.

    Not numpy's own tolerance, which is smaller for a smaller matrix, so that ranks could not be compared.
    """
    sizes = np.linalg.svd(matrix.astype(np.float64), compute_uv=False)
    varied = np.linalg.svd(matrix.astype(np.float64) - matrix.mean(), compute_uv=False) ** 2
    shares = np.cumsum(varied) / varied.sum()
    return int(np.sum(sizes > PAPER_TOLERANCE * sizes[0])), int(np.searchsorted(shares, 0.99)) + 1


def find_common_share(matrix: npt.NDArray[np.float32]) -> float:
    """(queries, items) -> how much of the variance within a query is the same for all queries, in hundredths.

    Where it is much, the same items are the best ones for nearly every query.
    """
    centred = matrix.astype(np.float64) - matrix.mean(axis=1, keepdims=True)
    return 100 * float(centred.mean(axis=0).var() / centred.var())


class KnownScores:
    """A scorer that looks scores up; items with the same text have the same scores."""

    def __init__(self, matrix: npt.NDArray[np.float32], queries: Sequence[str], items: Sequence[str]) -> None:
        self.matrix = matrix
        self._rows = {query: number for number, query in enumerate(queries)}
        self._columns = {text: number for number, text in enumerate(items)}

    def score(self, query: str, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """(texts,)"""
        return self.matrix[self._rows[query], [self._columns[text] for text in texts]]
