"""A query and a text as one row of tokens: what a cross-encoder reads, in use and in training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .batching import Batch, make_batches
from .tokens import Row, TextTokenizer

SHORTEST_PAIR = 16  # tokens


@dataclass(frozen=True)
class Markers:
    """The marker ids of the [EMB] form: before and after the query, before the text."""

    query_begin: int
    query_end: int
    text: int


@dataclass(frozen=True)
class Pair:
    """One row for the transformer.

    text_begin  the place where the text begins
    places      of the states whose means stand for the query and for the text; [CLS] for both without markers
    cut         whether the query or the text was too long
    """

    row: Row
    text_begin: int
    places: tuple[tuple[int, ...], tuple[int, ...]]
    cut: bool


class PairMaker:
    """Puts the tokens of a query and a text together, in at most `length` tokens."""

    def __init__(self, tokenizer: TextTokenizer, length: int, markers: Markers | None) -> None:
        """[CLS] query [SEP] text [SEP], or what the tokenizer puts around two texts; markers lie inside of it."""
        before, between, after = tokenizer.make_pair_frame()
        self._before = [*before, markers.query_begin] if markers else before
        self._between = [markers.query_end, *between, markers.text] if markers else between
        self._after = after
        self._markers = markers
        self._room = length - len(self._before) - len(self._between) - len(after)

    def make(self, number: int, query: Sequence[int], text: Sequence[int]) -> Pair:
        """The pair of this number. The text is cut first; the query keeps at least half of the room."""
        kept = query[: max(self._room // 2, self._room - len(text))]
        rest = text[: self._room - len(kept)]
        ids = np.array([*self._before, *kept, *self._between, *rest, *self._after], np.int64)
        end = len(self._before) + len(kept)  # of the query
        begin = end + len(self._between) - (self._markers is not None)  # the text's marker belongs to the text
        places = ((len(self._before) - 1, end), (begin,)) if self._markers else ((0,), (0,))
        cut = len(kept) < len(query) or len(rest) < len(text)
        return Pair(Row(number, ids, len(ids), 0, len(ids)), begin, places, cut)


@dataclass(frozen=True)
class PairBatch:
    """Padded pairs for one forward pass.

    types (pairs, tokens)    int64, 1 for the tokens of the text
    pool (pairs, 2, tokens)  weights of the states that stand for query and text
    """

    batch: Batch
    types: npt.NDArray[np.int64]
    pool: npt.NDArray[np.float32]


def make_pair_batches(pairs: Sequence[Pair], tokens: int) -> Iterator[PairBatch]:
    """Batches of about `tokens` ids each, the longest pairs first."""
    for batch in make_batches([pair.row for pair in pairs], tokens):
        chosen = [pairs[number] for number in batch.numbers]
        begins = np.array([pair.text_begin for pair in chosen])[:, None]
        types = batch.seen & (np.arange(batch.ids.shape[1]) >= begins)
        pool = np.zeros((len(chosen), 2, batch.ids.shape[1]), np.float32)
        for line, pair in zip(pool, chosen, strict=True):
            for side, places in zip(line, pair.places, strict=True):
                side[list(places)] = 1 / len(places)
        yield PairBatch(batch, types.astype(np.int64), pool)
