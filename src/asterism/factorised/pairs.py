"""Scored pairs of queries and documents on disk, and the vectors of documents that were fitted to them.

pairs/
  manifest.json      the queries, the scorer, the segments with the size and checksum of every file; the fit
  segment-000001/    queries (p,) int64, places in the list · documents (p,) int64, numbers · scores (p,) float32
  segment-000002/    of the fit: numbers (n,) int64, ascending · vectors (n, d + 1) float32
  writer.lock, writer.queue

Pairs are appended in blocks; each block is one commit. `finish` joins them and stores the fit, in one commit too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..storage.arrays import MappedFolder, verify_folders, write_arrays
from ..storage.facts import Facts
from ..storage.faults import damaged
from ..storage.folders import make_index_folder, remove_part, sweep_parts
from ..storage.manifest import write_manifest
from .blocks import Segment, advise, copy_blocks, hold_table, is_finite, make_segment, map_numbers, open_newest

KIND, VERSION = "asterism scored pairs", 1
FOLDER = "pairs"  # inside the folder of an index
MOST_QUERIES = 1 << 20
MOST_DIMENSIONS = 1 << 16

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class StoredFit:
    """Where the fitted vectors are; errors: of held-out queries, before and after."""

    segment: Segment
    dimensions: int
    error_before: float
    error_after: float

    @classmethod
    def from_facts(cls, facts: Facts) -> StoredFit:
        """Check and read the stored entry."""
        segment = Segment.from_facts(facts.part("segment"), "numbers", "vectors")
        errors = facts.number("error_before", 1e30), facts.number("error_after", 1e30)
        return cls(segment, facts.whole("dimensions", 1, MOST_DIMENSIONS), *errors)


@dataclass(frozen=True)
class PairState:
    """What the manifest holds. fit: None until the build is complete."""

    queries: tuple[str, ...]
    made_of: Mapping[str, Any]
    next_folder: int = 1
    segments: tuple[Segment, ...] = field(default=())
    fit: StoredFit | None = None

    @classmethod
    def from_facts(cls, facts: Facts) -> PairState:
        """Check and read the content of a manifest."""
        queries = facts.content.get("queries")
        if not isinstance(queries, list) or not all(isinstance(query, str) for query in queries):
            raise damaged(facts.where, "has no list of queries")
        if not 0 < len(queries) <= MOST_QUERIES:
            raise damaged(facts.where, f"has {len(queries)} queries, expected up to {MOST_QUERIES}")
        return cls(
            tuple(queries),
            facts.part("made_of").content,
            facts.whole("next_folder", 1, 10**12 - 1),
            tuple(Segment.from_facts(part, "queries", "documents", "scores") for part in facts.parts("segments")),
            StoredFit.from_facts(facts.part("fit")) if facts.has("fit") else None,
        )

    @property
    def blocks(self) -> tuple[Segment, ...]:
        """Every folder that belongs to it."""
        return (*self.segments, *([self.fit.segment] if self.fit is not None else []))

    def to_json(self) -> dict[str, Any]:
        """The content of the manifest."""
        return {"kind": KIND, "version": VERSION, **asdict(self)}


class PairTable:
    """An open table: all pairs, in the order in which they were scored, and the fit.

    queries (p,) · documents (p,) · scores (p,) · numbers (n,) of the fitted documents · vectors (n, d + 1)
    Everything is mapped at once, and stays readable when another process joins the blocks.
    """

    def __init__(self, folder: Path, state: PairState) -> None:
        """Use `create` or `open`."""
        self.folder = folder
        self.state = state
        self._parts = [MappedFolder(folder / segment.name, segment.files) for segment in state.segments]
        pairs = list(zip(self._parts, state.segments, strict=True))
        self.queries: Numbers = _join(part.array("queries", np.int64, (block.rows,)) for part, block in pairs)
        self.documents: Numbers = _join(part.array("documents", np.int64, (block.rows,)) for part, block in pairs)
        scores = [part.array("scores", np.float32, (block.rows,)) for part, block in pairs]
        self.scores: Floats = np.concatenate([np.empty(0, np.float32), *scores])
        self.numbers: Numbers = np.empty(0, np.int64)
        self.vectors: Floats = np.empty((0, 0), np.float32)
        if state.fit is not None:
            self._open_fit(state.fit)

    def _open_fit(self, fit: StoredFit) -> None:
        part = MappedFolder(self.folder / fit.segment.name, fit.segment.files)
        self.numbers = map_numbers(part, fit.segment.rows)
        self.vectors = part.array("vectors", np.float32, (fit.segment.rows, fit.dimensions))
        self._parts.append(part)
        if (self.numbers[1:] <= self.numbers[:-1]).any():
            raise damaged(self.folder, "has vectors whose numbers are not in order")

    @classmethod
    def create(cls, folder: Path, queries: Sequence[str], made_of: Mapping[str, Any]) -> PairTable:
        """An empty table in a new folder."""
        with make_index_folder(folder) as temporary:
            write_manifest(temporary, PairState(tuple(queries), made_of).to_json())
        return cls.open(folder)

    @classmethod
    def open(cls, folder: Path) -> PairTable:
        """Open a folder; nothing in it is changed."""
        return open_newest(folder, KIND, VERSION, PairState.from_facts, lambda state: cls(folder, state))

    @contextmanager
    def writing(self) -> Iterator[PairWriter]:
        """Hold the writer lock; the writer begins with the newest state, whose pairs are verified."""
        with hold_table(self.folder):
            newest = PairTable.open(self.folder)
            newest.verify()  # damage must not get a new checksum
            sweep_parts(self.folder, {segment.name for segment in newest.state.blocks})
            yield PairWriter(newest)

    @property
    def bytes(self) -> int:
        """Size of all arrays."""
        return sum(part.bytes for part in self._parts)

    def copy_to(self, target: Path) -> None:
        """Copy the table into a folder; FileNotFoundError if its blocks were joined meanwhile."""
        copy_blocks(self.folder, target, self.state.blocks, self.state.to_json())

    def verify(self) -> None:
        """Read all files and compare their checksums; what is not a number, or no query, is refused too."""
        with advise(self.folder):
            verify_folders(self._parts, 1)
            if not is_finite(self.scores) or not is_finite(self.vectors):
                raise damaged(self.folder, "has scores or vectors that are not numbers")
            if len(self.queries) and not 0 <= self.queries.min() <= self.queries.max() < len(self.state.queries):
                raise damaged(self.folder, "has pairs of queries that it does not list")


class PairWriter:
    """Each call is one commit."""

    def __init__(self, table: PairTable) -> None:
        """Made by `PairTable.writing`, which holds the lock."""
        self.table = table

    def append(self, queries: Numbers, documents: Numbers, scores: Floats) -> None:
        """Pairs (p,), at least one."""
        with make_segment(self.table.folder, self.table.state.next_folder) as (name, folder):
            files = write_arrays(folder, {"queries": queries, "documents": documents, "scores": scores})
        self._commit(1, segments=(*self.table.state.segments, Segment(name, len(queries), files)))

    def carry_over(self, old: Numbers, new: Numbers) -> None:
        """Documents that had the numbers old (n,), ascending, have new (n,) and the same texts: so have their pairs."""
        table, fit = self.table, self.table.state.fit
        if not np.isin(old, table.documents).any():
            return  # only documents with pairs are fitted
        numbers = _rename(table.numbers, old, new)
        order = np.argsort(numbers)
        errors = (fit.error_before, fit.error_after) if fit is not None else (1.0, 1.0)
        everything = np.ones(len(table.documents), bool)
        self._store(everything, _rename(table.documents, old, new), numbers[order], table.vectors[order], errors)

    def finish(self, kept: Numbers, numbers: Numbers, vectors: Floats, errors: tuple[float, float]) -> None:
        """Join the blocks, without pairs of documents that are not in `kept`, and store vectors (n, d + 1).

        errors: of held-out queries, before and after the fit
        """
        self._store(np.isin(self.table.documents, kept), self.table.documents, numbers, vectors, errors)

    def _store(
        self,
        chosen: npt.NDArray[np.bool_],
        documents: Numbers,
        numbers: Numbers,
        vectors: Floats,
        errors: tuple[float, float],
    ) -> None:
        """Replace everything by the chosen pairs (p,), of documents (p,), and by the fit."""
        table, state = self.table, self.table.state
        old = state.blocks
        blocks: tuple[Segment, ...] = ()
        if chosen.any():
            with make_segment(table.folder, state.next_folder) as (name, folder):
                files = write_arrays(folder, {"queries": table.queries[chosen], "documents": documents[chosen]})
                files |= write_arrays(folder, {"scores": table.scores[chosen]})
            blocks = (Segment(name, int(chosen.sum()), files),)
        fit = None
        if len(numbers):
            with make_segment(table.folder, state.next_folder + 1) as (name, folder):
                files = write_arrays(folder, {"numbers": numbers, "vectors": vectors})
            fit = StoredFit(Segment(name, len(numbers), files), vectors.shape[1], *errors)
        self._commit(2, segments=blocks, fit=fit)
        for segment in old:
            remove_part(table.folder, segment.name)

    def _commit(self, folders: int, **changes: Any) -> None:
        state = replace(self.table.state, next_folder=self.table.state.next_folder + folders, **changes)
        write_manifest(self.table.folder, state.to_json())
        self.table = PairTable(self.table.folder, state)


def _rename(numbers: Numbers, old: Numbers, new: Numbers) -> Numbers:
    """The numbers, those in old (n,), ascending, replaced by new (n,)."""
    at = np.minimum(np.searchsorted(old, numbers), len(old) - 1)
    return np.where(old[at] == numbers, new[at], numbers)


def _join(arrays: Iterator[Numbers]) -> Numbers:
    return np.concatenate([np.empty(0, np.int64), *arrays])
