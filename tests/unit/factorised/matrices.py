"""Score matrices whose rank is known, and a scorer that reads them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def draw_matrix(queries: int, items: int, rank: int, seed: int = 0) -> npt.NDArray[np.float64]:
    """(queries, items) of this rank."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(queries, rank)) @ rng.normal(size=(rank, items)) / np.sqrt(rank)


class MatrixScorer:
    """Scores the query "q3" and the text "item 5" by matrix[3, 5]; counts its calls."""

    def __init__(self, matrix: npt.NDArray[np.float64]) -> None:
        self.matrix = matrix
        self.asked: list[tuple[str, str]] = []

    def score(self, query: str, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.asked += [(query, text) for text in texts]
        row = self.matrix[int(query.removeprefix("q"))]
        return np.array([row[int(text.split()[-1])] for text in texts], np.float32)


def name_queries(numbers: Sequence[int]) -> list[str]:
    return [f"q{number}" for number in numbers]


def name_items(count: int) -> list[str]:
    return [f"item {number}" for number in range(count)]
