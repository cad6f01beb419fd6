"""An open committed state of a collection: its mapped segments and deleted documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..settings import VIEWS, View
from ..storage.faults import damaged
from ..views.dense.searcher import DenseSearcher
from ..views.eligible import Mask
from ..views.lexical.searcher import LexicalSearcher
from ..views.lexical.statistics import LexicalStatistics
from ..views.tokens.merge import KeptTokens
from ..views.tokens.searcher import TokenSearcher
from .catalog_reader import CatalogReader
from .filters import Condition, Either, Every, Not
from .state import Numbers, State, fingerprint
from .stored_parts import StoredCodec, StoredSegment, open_stored_codec, open_stored_segment


@dataclass(frozen=True)
class Snapshot:
    """What a search sees. numbers (documents,) of all segments, ascending; kept (documents,): which are not deleted.

    multi, dense, lexical: the searchers of the views; None for a view that is not stored, or in an empty collection.
    """

    state: State
    codec: StoredCodec | None
    segments: tuple[StoredSegment, ...]
    multi: TokenSearcher | None
    dense: DenseSearcher | None
    lexical: LexicalSearcher | None
    numbers: Numbers
    kept: Mask

    @classmethod
    def open(cls, folder: Path, reader: CatalogReader, state: State, previous: Snapshot | None) -> Snapshot:
        """Open the state of a transaction, reusing what `previous` has open."""
        known = {stored.part: stored for stored in previous.segments} if previous else {}
        codec = None
        if state.codec is not None:
            same = previous is not None and previous.codec is not None and previous.codec.part == state.codec
            codec = previous.codec if same and previous else open_stored_codec(folder, state.codec)
        segments = tuple(known.get(part) or open_stored_segment(folder, part, codec) for part in state.segments)
        tombstones = reader.tombstones()
        if state.tombstones is not None and fingerprint(tombstones) != state.tombstones:
            raise damaged(folder, "has tombstones that do not match the committed state")
        return cls.from_parts(folder, state, codec, segments, tombstones)

    @classmethod
    def from_parts(
        cls,
        folder: Path,
        state: State,
        codec: StoredCodec | None,
        segments: tuple[StoredSegment, ...],
        tombstones: Numbers,
    ) -> Snapshot:
        """Combine open parts after checking that they are consistent."""
        numbers = np.concatenate([np.empty(0, np.int64), *(stored.numbers for stored in segments)])
        known = len(numbers) == 0 or 0 <= numbers[0] <= numbers[-1] < state.next_number
        if not known or (numbers[1:] <= numbers[:-1]).any():
            raise damaged(folder, "has documents whose numbers are not in order")
        kept = np.ones(len(numbers), bool)
        kept[positions(numbers, tombstones)] = False
        kept.setflags(write=False)  # read-only, so that searchers can cache what they derive from it
        if int(kept.sum()) != state.documents:
            raise damaged(folder, "has segments and a catalog that do not hold the same documents")
        tokens = [stored.multi.segment for stored in segments if stored.multi is not None]
        dense = [stored.dense for stored in segments if stored.dense is not None]
        lexical = [stored.lexical for stored in segments if stored.lexical is not None]
        if len({stored.views for stored in segments}) > 1 or (codec is not None and len(tokens) < len(segments)):
            raise damaged(folder, "has segments with different views")
        return cls(
            state,
            codec,
            segments,
            TokenSearcher(folder, codec.codec, tokens) if codec is not None else None,
            DenseSearcher(folder, dense) if dense else None,
            LexicalSearcher(folder, lexical, LexicalStatistics(lexical, kept)) if lexical else None,
            numbers,
            kept,
        )

    @cached_property
    def views(self) -> tuple[View, ...]:
        """The views that can be searched."""
        return tuple(name for name in VIEWS if getattr(self, name) is not None)

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return sum(stored.bytes for stored in self.segments) + (self.codec.bytes if self.codec is not None else 0)

    def kept_in(self, stored: StoredSegment) -> Mask:
        """(documents of the segment,): which are not deleted."""
        return self.kept[positions(self.numbers, stored.numbers)]

    def kept_tokens(self, segments: Sequence[StoredSegment], chunk_tokens: int) -> list[KeptTokens]:
        """The token vectors of segments, without those of deleted documents."""
        found = ((stored.multi, self.kept_in(stored)) for stored in segments)
        return [KeptTokens(multi.segment, kept, chunk_tokens) for multi, kept in found if multi is not None]

    def match(self, condition: Condition, reader: CatalogReader) -> Mask:
        """(documents,) which match a condition, deleted ones possibly included. Memory: a mask per level of nesting."""
        if isinstance(condition, Not):
            mask = self.match(condition.part, reader)
            return np.logical_not(mask, out=mask)
        if isinstance(condition, Every | Either):
            mask = np.full(len(self.numbers), isinstance(condition, Every))
            combine = np.logical_and if isinstance(condition, Every) else np.logical_or
            for part in condition.parts:
                combine(mask, self.match(part, reader), out=mask)
            return mask
        mask = np.zeros(len(self.numbers), bool)
        for numbers in reader.match(condition):
            mask[positions(self.numbers, numbers)] = True
        return mask


def positions(numbers: Numbers, wanted: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """The positions in `numbers` (ascending) of the wanted numbers that exist."""
    asked = np.asarray(wanted, np.int64)
    found = np.searchsorted(numbers, asked)
    there = found < len(numbers)
    there[there] = numbers[found[there]] == asked[there]
    return found[there]
