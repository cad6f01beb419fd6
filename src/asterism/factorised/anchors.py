"""Chooses the anchor items: those whose scores tell most about the scores of all others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
import numpy.typing as npt

AnchorChoice = Literal["pivots", "clusters", "random"]
Vectors = npt.NDArray[np.floating]

CHUNK = 4096  # items whose vectors are copied at once
ROUNDS = 10  # of k-means


def choose_anchors(vectors: Vectors, count: int, choice: AnchorChoice, seed: int) -> list[int]:
    """Item vectors (n, q) -> the numbers of at most `count` items, the most telling first.

    If no item tells anything, because all scores are 0, it is the first one.
    """
    found = CHOICES[choice](vectors, min(count, len(vectors)), np.random.default_rng(seed))
    return found or list(range(min(1, count, len(vectors))))


def choose_random(vectors: Vectors, count: int, rng: np.random.Generator) -> list[int]:
    """Any items."""
    return [int(number) for number in rng.permutation(len(vectors))[:count]]


def choose_pivots(vectors: Vectors, count: int, _: np.random.Generator) -> list[int]:
    """QR with pivoting: each item in turn is the one that the items before it explain least.

    Beyond the rank of the vectors nothing is left to explain, and there are fewer anchors.
    """
    residual = np.array(vectors, np.float32)
    sizes = _measure(residual)
    least = 1e-10 * float(sizes.max(initial=1e-30))
    chosen: list[int] = []
    while len(chosen) < count:
        pivot = int(np.argmax(sizes))
        if sizes[pivot] <= least:
            break
        chosen.append(pivot)
        direction = residual[pivot] / np.sqrt(sizes[pivot])
        for part in _split(residual):
            part -= np.outer(part @ direction, direction)
        sizes = _measure(residual)
        sizes[chosen] = 0.0
    return chosen


def choose_clusters(vectors: Vectors, count: int, rng: np.random.Generator) -> list[int]:
    """The items nearest to the centres of k-means; the largest clusters first."""
    import faiss

    if not count:
        return []
    rows = np.ascontiguousarray(vectors, np.float32)
    means = faiss.Kmeans(
        rows.shape[1], count, niter=ROUNDS, seed=int(rng.integers(1 << 30)), min_points_per_centroid=1, verbose=False
    )
    means.train(rows)
    _, nearest = means.index.search(rows, 1)
    order = np.argsort(-np.bincount(nearest[:, 0], minlength=count), kind="stable")
    items = faiss.IndexFlatL2(rows.shape[1])
    items.add(rows)
    _, found = items.search(means.centroids[order], 1)
    return list(dict.fromkeys(int(number) for number in found[:, 0]))  # two centres may share an item


def _measure(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """(n, q) -> squared lengths (n,)."""
    parts = (part.astype(np.float64) for part in _split(rows))
    return np.concatenate([np.zeros(0), *(np.einsum("ij,ij->i", part, part) for part in parts)])


def _split(rows: npt.NDArray[np.float32]) -> Iterator[npt.NDArray[np.float32]]:
    """Views of some rows each."""
    return (rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK))


CHOICES: dict[AnchorChoice, Callable[[Vectors, int, np.random.Generator], list[int]]] = {
    "pivots": choose_pivots,
    "clusters": choose_clusters,
    "random": choose_random,
}
