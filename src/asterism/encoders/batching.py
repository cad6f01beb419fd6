"""Rows of similar length together, under a budget of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .graph.heads import Pooling
from .tokens import Row


@dataclass(frozen=True)
class Batch:
    """Padded rows: ids (rows, tokens) int64, lengths (rows,) int32: how many tokens are seen; numbers of the rows."""

    numbers: npt.NDArray[np.int64]
    rows: list[Row]
    ids: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int32]

    def own(self) -> npt.NDArray[np.bool_]:
        """(rows, tokens) the rows' own places: neither padding nor the context of a window."""
        place = np.arange(self.ids.shape[1])
        begin, end = (np.array([getattr(row, name) for row in self.rows])[:, None] for name in ("begin", "end"))
        return np.asarray((place >= begin) & (place < end))

    def seen(self) -> npt.NDArray[np.bool_]:
        """(rows, tokens) the places that attention sees."""
        return np.asarray(np.arange(self.ids.shape[1]) < self.lengths[:, None])

    def shares(self, pooling: Pooling, repeated_cls: int | None) -> npt.NDArray[np.float32]:
        """(rows, tokens) each state's share of the dense vector; a text's shares are divided by their sum later."""
        if pooling == "mean":
            return (self.own() & self.seen()).astype(np.float32)
        chosen = np.zeros(self.ids.shape, bool)
        if repeated_cls is not None:
            chosen = (self.ids == repeated_cls) & self.seen()
        chosen[:, 0] = True
        return chosen.astype(np.float32)


def make_batches(rows: Sequence[Row], tokens: int) -> Iterator[Batch]:
    """The longest first, so that what needs most memory comes first; about `tokens` ids in each."""
    order = np.argsort([-len(row.ids) for row in rows], kind="stable")
    start = 0
    while start < len(order):
        width = max(1, len(rows[order[start]].ids))
        numbers = order[start : start + max(1, tokens // width)]
        chosen = [rows[i] for i in numbers]
        ids = np.zeros((len(chosen), width), np.int64)
        for line, row in zip(ids, chosen, strict=True):
            line[: len(row.ids)] = row.ids
        yield Batch(numbers, chosen, ids, np.array([row.attended for row in chosen], np.int32))
        start += len(chosen)
