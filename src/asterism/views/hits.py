"""What every engine returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class SearchHits:
    """Best first. Unpacks as `ids, scores = index.search(...)`.

    ids int64 and scores float32: (k,) for one query, fewer if there are fewer documents; (n, k) for many, padded
    with -1 and -inf;
    timings: seconds of each stage, summed over the queries.
    """

    ids: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]
    timings: dict[str, float] = field(default_factory=dict)

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        """Yield ids, then scores."""
        yield self.ids
        yield self.scores

    @classmethod
    def none(cls, queries: int) -> SearchHits:
        """The hits (queries, 0) of an empty index."""
        return cls(np.empty((queries, 0), np.int64), np.empty((queries, 0), np.float32))

    @classmethod
    def from_rows(
        cls,
        rows: Sequence[tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]],
        timings: dict[str, float] | None = None,
    ) -> SearchHits:
        """Ids and scores of each query -> (n, k), padded to the longest."""
        seconds = timings or {}
        if len(rows) == 1:
            return cls(rows[0][0][None], rows[0][1][None], seconds)
        k = max((len(ids) for ids, _ in rows), default=0)
        padded = cls(np.full((len(rows), k), -1, np.int64), np.full((len(rows), k), -np.inf, np.float32), seconds)
        for i, (ids, scores) in enumerate(rows):
            padded.ids[i, : len(ids)], padded.scores[i, : len(ids)] = ids, scores
        return padded
