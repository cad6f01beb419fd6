"""The committed state of a collection: counters, codec and segments."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from ..storage.facts import LARGEST, Facts
from ..storage.faults import damaged
from ..storage.folders import PART

MOST_FOLDERS = 10**12 - 1

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Part:
    """A codec's or segment's folder and the checksum of its facts file."""

    name: str
    crc32: int

    @classmethod
    def from_facts(cls, facts: Facts, kind: str) -> Part:
        """Check the name: only "codec-…" or "segment-…" folders, by `kind`, can be opened, written or removed."""
        name = facts.text("name")
        if not PART.fullmatch(name) or not name.startswith(f"{kind}-"):
            raise damaged(facts.where, f"names {name[:60]!r}, expected a {kind} with a number")
        return cls(name, facts.whole("crc32", most=2**32 - 1))

    @property
    def number(self) -> int:
        """The number in the folder's name."""
        return int(self.name.rpartition("-")[2])


@dataclass(frozen=True)
class State:
    """`generation` grows with every commit; folder names and document numbers are never reused.

    tombstones: a fingerprint of all tombstones, None in earlier formats · identity: random, to tell indexes of the same
    content apart; "" in earlier formats.
    """

    generation: int = 0
    documents: int = 0
    next_number: int = 0
    next_folder: int = 1
    codec: Part | None = None
    segments: tuple[Part, ...] = field(default=())
    tombstones: int | None = 0
    identity: str = ""

    @classmethod
    def from_facts(cls, facts: Facts) -> State:
        """Check and read the stored state."""
        codec = Part.from_facts(facts.part("codec"), "codec") if facts.has("codec") else None
        segments = tuple(Part.from_facts(part, "segment") for part in facts.parts("segments"))
        state = cls(
            facts.whole("generation"),
            facts.whole("documents"),
            facts.whole("next_number"),
            facts.whole("next_folder", 1, MOST_FOLDERS),
            codec,
            segments,
            facts.whole("tombstones", most=2**64 - 1) if "tombstones" in facts.content else None,
            facts.text("identity")[:64] if "identity" in facts.content else "",
        )
        state._refuse_unreadable(facts.where)
        return state

    def commit(self, change: int, where: str) -> State:
        """The next committed state; `change`: fingerprint of added tombstones minus that of removed ones."""
        tombstones = ((self.tombstones or 0) + change) % 2**64
        state = replace(self, generation=self.generation + 1, tombstones=tombstones)
        state._refuse_unreadable(where)
        return state

    def _refuse_unreadable(self, where: str) -> None:
        """Refuse a state that `from_facts` would not read back, such as a forged one with exhausted counters."""
        parts = [part for part in (self.codec, *self.segments) if part is not None]
        if len(self.folders) < len(parts) or any(part.number >= self.next_folder for part in parts):
            raise damaged(where, "names a folder twice, or one that does not exist yet")
        if max(self.generation, self.documents, self.next_number) > LARGEST or self.next_folder > MOST_FOLDERS:
            raise damaged(where, "has numbers that cannot grow any more")

    @property
    def folders(self) -> set[str]:
        """The names of its codec and segments."""
        return {part.name for part in (*self.segments, self.codec) if part is not None}


def new_identity() -> str:
    """A random identity for a new index."""
    return os.urandom(16).hex()


def upgrade_state(state: State, tombstones: Numbers) -> State:
    """Add what earlier formats lack."""
    return replace(state, tombstones=fingerprint(tombstones), identity=state.identity or new_identity())


def fingerprint(numbers: npt.ArrayLike) -> int:
    """Numbers (n,) -> a 64-bit sum that does not depend on their order, so that it can be updated incrementally."""
    with np.errstate(over="ignore"):
        x = np.asarray(numbers, np.int64).astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return int(np.sum(x ^ (x >> np.uint64(31)), dtype=np.uint64))


def complete_fingerprint(found: set[int], wanted: int | None, held: set[int]) -> set[int] | None:
    """`found` with at most one number replaced, added or removed so that its fingerprint is `wanted`.

    None if that is impossible. An added number is one of `held`.
    """
    if wanted is None:
        return found
    total = fingerprint(list(found))
    if total == wanted:
        return found
    marks = {fingerprint([number]): number for number in held - found}
    for gone in (None, *found):
        rest = found - {gone} if gone is not None else found
        left = (wanted - total + (fingerprint([gone]) if gone is not None else 0)) % 2**64
        if left == 0:
            return rest
        if left in marks:
            return rest | {marks[left]}
    return None
