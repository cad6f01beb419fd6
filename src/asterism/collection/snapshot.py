"""One committed state of a collection, opened: segments mapped, the dead known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..settings import VIEWS, TokenSearch, View, whole_number
from ..storage.faults import damaged
from ..views.dense.searcher import DenseSearcher
from ..views.hits import SearchHits
from ..views.lexical.searcher import LexicalSearcher
from ..views.tokens.merge import Living, Mask
from ..views.tokens.searcher import TokenSearcher
from .catalog import CatalogReader
from .filters import Condition, Either, Every, Not
from .state import Numbers, State, fingerprint
from .stored_parts import StoredCodec, StoredSegment, open_stored_codec, open_stored_segment


@dataclass(frozen=True)
class Snapshot:
    """What a search sees. `numbers` (documents,) of all segments, rising; `alive` the same length.

    multi, dense, lexical search those views; None for one that is not kept, or that nothing was added to.
    """

    state: State
    codec: StoredCodec | None
    segments: tuple[StoredSegment, ...]
    multi: TokenSearcher | None
    dense: DenseSearcher | None
    lexical: LexicalSearcher | None
    numbers: Numbers
    alive: Mask

    @classmethod
    def open(cls, folder: Path, view: CatalogReader, previous: Snapshot | None) -> Snapshot:
        """The state of a transaction; what `previous` has open already is used again."""
        state = view.state()
        known = {stored.part: stored for stored in previous.segments} if previous else {}
        codec = None
        if state.codec is not None:
            same = previous is not None and previous.codec is not None and previous.codec.part == state.codec
            codec = previous.codec if same and previous else open_stored_codec(folder, state.codec)
        segments = tuple(known.get(part) or open_stored_segment(folder, part, codec) for part in state.segments)
        tombstones = view.tombstones()
        if state.tombstones is not None and fingerprint(tombstones) != state.tombstones:
            raise damaged(folder, "has other deleted documents than were deleted")
        return cls.of(folder, state, codec, segments, tombstones)

    @classmethod
    def of(
        cls,
        folder: Path,
        state: State,
        codec: StoredCodec | None,
        segments: tuple[StoredSegment, ...],
        tombstones: Numbers,
    ) -> Snapshot:
        """Of parts that are open."""
        numbers = np.concatenate([np.empty(0, np.int64), *(stored.numbers for stored in segments)])
        known = len(numbers) == 0 or 0 <= numbers[0] <= numbers[-1] < state.next_number
        if not known or (numbers[1:] <= numbers[:-1]).any():
            raise damaged(folder, "has documents whose numbers are not in order")
        alive = np.ones(len(numbers), bool)
        alive[positions(numbers, tombstones)] = False
        alive.setflags(write=False)  # so that what a search makes of it holds
        if int(alive.sum()) != state.documents:
            raise damaged(folder, "has segments and a catalog that do not hold the same documents")
        tokens = [stored.multi.segment for stored in segments if stored.multi is not None]
        dense = [stored.dense for stored in segments if stored.dense is not None]
        lexical = [stored.lexical for stored in segments if stored.lexical is not None]
        if len({stored.views for stored in segments}) > 1 or (codec is not None and len(tokens) < len(segments)):
            raise damaged(folder, "has segments with views that others have not")
        return cls(
            state,
            codec,
            segments,
            TokenSearcher(folder, codec.codec, tokens) if codec is not None else None,
            DenseSearcher(folder, dense) if dense else None,
            LexicalSearcher(folder, lexical) if lexical else None,
            numbers,
            alive,
        )

    @property
    def views(self) -> tuple[View, ...]:
        """Those that can be searched."""
        return tuple(name for name in VIEWS if getattr(self, name) is not None)

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return sum(stored.bytes for stored in self.segments) + (self.codec.bytes if self.codec is not None else 0)

    def nearest_tokens(
        self, queries: Sequence[npt.ArrayLike], k: int, settings: TokenSearch, subset: Mask | None, threads: int
    ) -> SearchHits:
        """Queries, each (vectors, d) -> ids and scores (n, k) by token vectors; timings are means."""
        whole_number("k", k, 1)
        if self.multi is None:
            return SearchHits.none(len(queries))
        if len(queries) == 1:
            one = self.multi.search(queries[0], k, settings, subset)
            return SearchHits(one.ids[None], one.scores[None], one.timings)
        many = self.multi.search_many(queries, k, settings, subset, threads)
        timings = {stage: seconds / len(queries) for stage, seconds in many.timings.items()}
        return SearchHits(many.ids, many.scores, timings)

    def alive_in(self, stored: StoredSegment) -> Mask:
        """(documents of the segment,) the living."""
        return self.alive[positions(self.numbers, stored.numbers)]

    def living_tokens(self, segments: Sequence[StoredSegment]) -> list[Living]:
        """The token vectors of segments with their living documents."""
        return [Living(one.multi.segment, self.alive_in(one)) for one in segments if one.multi is not None]

    def drift(self) -> float:
        """What the codec leaves over now, as a multiple of that at its training; 1 for what was never trained."""
        stored = [segment.multi for segment in self.segments if segment.multi is not None]
        if self.codec is None or self.codec.left_over <= 0 or not stored:
            return 1.0
        weights = [max(1, tokens.segment.facts.tokens) for tokens in stored]
        return float(np.average([tokens.left_over for tokens in stored], weights=weights)) / self.codec.left_over

    def matching(self, condition: Condition, view: CatalogReader) -> Mask:
        """(documents,) which fulfil a condition, dead ones perhaps included; a mask for each level of nesting."""
        if isinstance(condition, Not):
            mask = self.matching(condition.part, view)
            return np.logical_not(mask, out=mask)
        if isinstance(condition, Every | Either):
            mask = np.full(len(self.numbers), isinstance(condition, Every))
            combine = np.logical_and if isinstance(condition, Every) else np.logical_or
            for part in condition.parts:
                combine(mask, self.matching(part, view), out=mask)
            return mask
        mask = np.zeros(len(self.numbers), bool)
        for numbers in view.matching(condition):
            mask[positions(self.numbers, numbers)] = True
        return mask


def positions(numbers: Numbers, wanted: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Where in `numbers` (rising) the wanted ones stand; those that are not there are left out."""
    asked = np.asarray(wanted, np.int64)
    found = np.searchsorted(numbers, asked)
    there = found < len(numbers)
    there[there] = numbers[found[there]] == asked[there]
    return found[there]
