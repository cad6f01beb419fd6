"""Rows of similar length together, up to a number of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .tokens import Row

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Batch:
    """Padded rows for one forward pass.

    numbers (rows,)         which of the given rows they are
    ids (rows, tokens)      int64, padded with 0
    lengths (rows,)         int32, how many tokens attention sees
    seen (rows, tokens)     the tokens that attention sees
    own (rows, tokens)      the row's own tokens: neither padding nor the context of a window
    """

    numbers: npt.NDArray[np.int64]
    ids: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int32]
    seen: Mask
    own: Mask


def make_batches(rows: Sequence[Row], tokens: int) -> Iterator[Batch]:
    """Batches of about `tokens` ids each; the longest rows first, because they need the most memory."""
    order = np.argsort([-len(row.ids) for row in rows], kind="stable")
    start = 0
    while start < len(order):
        width = max(1, len(rows[order[start]].ids))
        numbers = order[start : start + max(1, tokens // width)]
        yield _pad(numbers, [rows[i] for i in numbers], width)
        start += len(numbers)


def _pad(numbers: npt.NDArray[np.int64], rows: Sequence[Row], width: int) -> Batch:
    ids = np.zeros((len(rows), width), np.int64)
    for line, row in zip(ids, rows, strict=True):
        line[: len(row.ids)] = row.ids
    places = np.arange(width)
    lengths, begins, ends = np.array([(row.attended, row.begin, row.end) for row in rows], np.int32).T[:, :, None]
    return Batch(numbers, ids, lengths[:, 0].copy(), places < lengths, (places >= begins) & (places < ends))
