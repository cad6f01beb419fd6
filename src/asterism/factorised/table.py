"""The scores of all anchor queries for each document, on disk: rows by document number.

cross/
  manifest.json      the anchor queries, the scorer, the segments with the size and checksum of every file; anchor items
  segment-000001/    numbers (n,) int64, ascending · scores (n, queries) float32 or float16
  writer.lock, writer.queue

Rows are appended in blocks; each block is one commit, so that a build that is killed loses at most one. `finish` joins
all blocks to one segment, so that an interrupted build ends with the same bytes as another. A document whose number
changes without its text keeps its scores: `carry_over` appends them once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..storage.arrays import ArrayWriter, MappedFolder, verify_folders, write_arrays
from ..storage.facts import LARGEST, Facts
from ..storage.faults import damaged
from ..storage.folders import make_index_folder, remove_part, sweep_parts
from ..storage.manifest import write_manifest
from .blocks import CHUNK, Segment, advise, copy_blocks, hold_table, is_finite, make_segment, map_numbers, open_newest

KIND, VERSION = "asterism anchor scores", 2  # 1: the numbers of a block are above those of the blocks before
FOLDER = "cross"  # inside the folder of an index
MOST_QUERIES = 1 << 16
PRECISIONS = ("float32", "float16")

Numbers = npt.NDArray[np.int64]
Rows = npt.NDArray[np.floating]


@dataclass(frozen=True)
class TableState:
    """What the manifest holds. anchors: the numbers of the anchor items, none until the build is complete.

    ridge: of the regression · made_of: what the rows depend on besides the documents, as the builder describes it.
    """

    queries: tuple[str, ...]
    precision: str
    made_of: Mapping[str, Any]
    next_folder: int = 1
    segments: tuple[Segment, ...] = field(default=())
    anchors: tuple[int, ...] = ()
    ridge: float = 0.0

    @classmethod
    def from_facts(cls, facts: Facts) -> TableState:
        """Check and read the content of a manifest."""
        content = facts.content
        queries, anchors = content.get("queries"), content.get("anchors")
        if not isinstance(queries, list) or not all(isinstance(query, str) for query in queries):
            raise damaged(facts.where, "has no list of anchor queries")
        if not isinstance(anchors, list) or not all(type(one) is int and 0 <= one <= LARGEST for one in anchors):
            raise damaged(facts.where, "has no list of anchor items")
        ridge = facts.number("ridge", 1e6)
        if ridge < 0:
            raise damaged(facts.where, f"has the ridge {ridge:g}, expected 0 or more")
        if not 0 < len(queries) <= MOST_QUERIES:
            raise damaged(facts.where, f"has {len(queries)} anchor queries, expected up to {MOST_QUERIES}")
        return cls(
            tuple(queries),
            facts.text("precision", PRECISIONS),
            facts.part("made_of").content,
            facts.whole("next_folder", 1, 10**12 - 1),
            tuple(Segment.from_facts(part, "numbers", "scores") for part in facts.parts("segments")),
            tuple(anchors),
            ridge,
        )

    def to_json(self) -> dict[str, Any]:
        """The content of the manifest."""
        return {"kind": KIND, "version": VERSION, **asdict(self)}


class ScoreTable:
    """An open table. `numbers` (n,) are ascending, and the rows of `read` are in their order.

    Everything is mapped at once, and stays readable when another process joins the blocks. The numbers are compared
    with their checksum, because they say whose scores the rows are.
    """

    def __init__(self, folder: Path, state: TableState) -> None:
        """Use `create` or `open`."""
        self.folder = folder
        self.state = state
        self._parts = [MappedFolder(folder / segment.name, segment.files) for segment in state.segments]
        pairs = list(zip(self._parts, state.segments, strict=True))
        self._scores = [part.array("scores", self.dtype, (segment.rows, self.width)) for part, segment in pairs]
        arrays = [map_numbers(part, segment.rows) for part, segment in pairs]
        numbers: Numbers = np.concatenate([np.empty(0, np.int64), *arrays])
        self._order = None if (numbers[1:] > numbers[:-1]).all() else np.argsort(numbers, kind="stable")
        self.numbers = numbers if self._order is None else numbers[self._order]
        if any((one[1:] <= one[:-1]).any() for one in (*arrays, self.numbers)):
            raise damaged(folder, "has rows whose numbers are not in order, or two of one document")

    @classmethod
    def create(cls, folder: Path, queries: Sequence[str], precision: str, made_of: Mapping[str, Any]) -> ScoreTable:
        """An empty table in a new folder."""
        state = TableState(tuple(queries), precision, made_of)
        with make_index_folder(folder) as temporary:
            write_manifest(temporary, state.to_json())
        return cls.open(folder)

    @classmethod
    def open(cls, folder: Path) -> ScoreTable:
        """Open a folder; nothing in it is changed."""
        return open_newest(folder, KIND, VERSION, TableState.from_facts, lambda state: cls(folder, state))

    @contextmanager
    def writing(self) -> Iterator[TableWriter]:
        """Hold the writer lock; the writer begins with the newest state."""
        with hold_table(self.folder):
            newest = ScoreTable.open(self.folder)
            sweep_parts(self.folder, {segment.name for segment in newest.state.segments})
            yield TableWriter(newest)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the stored scores."""
        return np.dtype(self.state.precision)

    @property
    def width(self) -> int:
        """Anchor queries."""
        return len(self.state.queries)

    @property
    def bytes(self) -> int:
        """Size of all arrays."""
        return sum(part.bytes for part in self._parts)

    def read(self) -> Rows:
        """(n, queries) all rows; one segment is mapped, several are copied."""
        if len(self._scores) == 1:
            return self._scores[0]
        rows = np.concatenate([np.empty((0, self.width), self.dtype), *self._scores])
        return rows if self._order is None else rows[self._order]

    def copy_to(self, target: Path) -> None:
        """Copy the table into a folder; FileNotFoundError if its blocks were joined meanwhile."""
        copy_blocks(self.folder, target, self.state.segments, self.state.to_json())

    def verify(self) -> None:
        """Read all files and compare their checksums; a score that is not a number is refused too."""
        with advise(self.folder):
            verify_folders(self._parts, 1)
            if not all(is_finite(rows) for rows in self._scores):
                raise damaged(self.folder, "has scores that are not numbers")


class TableWriter:
    """Each call is one commit."""

    def __init__(self, table: ScoreTable) -> None:
        """Made by `ScoreTable.writing`, which holds the lock."""
        self.table = table

    def append(self, numbers: Numbers, scores: npt.NDArray[np.floating]) -> None:
        """Rows (n, queries) of documents that have none yet, whose numbers are ascending."""
        with np.errstate(over="ignore"):
            rows = scores.astype(self.table.dtype)
        if not np.isfinite(rows).all():
            largest = float(np.abs(scores).max())
            raise InputError(
                f"a score is {largest:g} or its negative, more than {self.table.dtype} can hold: remove "
                f"{self.table.folder} and build it with the precision float32"
            )
        self._refuse_known(numbers)
        with make_segment(self.table.folder, self.table.state.next_folder) as (name, folder):
            files = write_arrays(folder, {"numbers": numbers, "scores": rows})
        segment = Segment(name, len(numbers), files)
        self._commit(segments=(*self.table.state.segments, segment))

    def carry_over(self, old: Numbers, new: Numbers) -> None:
        """Documents that had the numbers old (n,) have new (n,) and the same texts: their rows are copied.

        Anchor items among them stay anchor items.
        """
        table = self.table
        there = np.isin(old, table.numbers)
        if not there.any():
            return
        self._refuse_known(new)
        table.verify()  # damage must not get a new checksum
        segment = self._copy_rows(np.searchsorted(table.numbers, old[there]), new[there])
        names = dict(zip(old.tolist(), new.tolist(), strict=True))
        anchors = tuple(names.get(number, number) for number in table.state.anchors)
        self._commit(segments=(*table.state.segments, segment), anchors=anchors)

    def finish(self, kept: Numbers, anchors: Sequence[int], ridge: float) -> None:
        """Join all blocks, keep the rows of these documents only, and store what was chosen."""
        table = self.table
        if len(table.state.segments) == 1 and np.isin(table.numbers, kept).all():
            self._commit(anchors=tuple(anchors), ridge=ridge)
            return
        table.verify()  # damage must not get a new checksum
        old = table.state.segments
        places = np.flatnonzero(np.isin(table.numbers, kept))
        if not len(places):
            self._commit(segments=(), anchors=(), ridge=0.0)
        else:
            segment = self._copy_rows(places, table.numbers[places])
            self._commit(segments=(segment,), anchors=tuple(anchors), ridge=ridge)
        for segment in old:
            remove_part(table.folder, segment.name)

    def _copy_rows(self, places: Numbers, numbers: Numbers) -> Segment:
        """A block of the rows at these places (n,) with these numbers (n,); nothing is committed."""
        table, rows = self.table, self.table.read()
        with make_segment(table.folder, table.state.next_folder) as (name, folder):
            files = write_arrays(folder, {"numbers": numbers})
            with ArrayWriter(folder / "scores.npy", table.dtype, (len(places), table.width)) as writer:
                for start in range(0, len(places), CHUNK):
                    writer.write(rows[places[start : start + CHUNK]])
                files["scores.npy"] = writer.close()
        return Segment(name, len(places), files)

    def _refuse_known(self, numbers: Numbers) -> None:
        if np.isin(numbers, self.table.numbers).any():
            raise damaged(self.table.folder, "has scores of documents that the index does not have yet")

    def _commit(self, **changes: Any) -> None:
        used = int("segments" in changes)  # a build that is finished twice leaves the same bytes
        state = replace(self.table.state, next_folder=self.table.state.next_folder + used, **changes)
        write_manifest(self.table.folder, state.to_json())
        self.table = ScoreTable(self.table.folder, state)
