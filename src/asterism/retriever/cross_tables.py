"""What an index keeps for searches by a scorer: anchor scores, and vectors fitted to scored pairs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..collection.collection import Collection
from ..collection.metadata_changes import Moved
from ..errors import IndexFolderError, ModelDiffers, NotAnIndex, SettingError
from ..factorised.pairs import FOLDER as PAIRS
from ..factorised.pairs import PairState, PairTable
from ..factorised.table import FOLDER as SCORES
from ..factorised.table import Numbers, ScoreTable, TableState
from ..storage.faults import damaged


@dataclass(frozen=True)
class CrossTables:
    """The open tables of an index; None for one that it does not have."""

    scores: ScoreTable | None
    pairs: PairTable | None

    @classmethod
    def open(cls, collection: Collection) -> CrossTables:
        """Open what there is."""
        return cls(open_table(collection), open_pairs(collection))

    @property
    def states(self) -> tuple[TableState | None, PairState | None]:
        """What tells two states of the tables apart."""
        scores, pairs = self.scores, self.pairs
        return (None if scores is None else scores.state, None if pairs is None else pairs.state)

    @property
    def made_of(self) -> Mapping[str, Any] | None:
        """The scorer of both; None if there is no table."""
        found = next((state for state in self.states if state is not None), None)
        return found.made_of if found is not None else None

    def verify(self) -> None:
        """Read all files and compare their checksums."""
        for table in (self.scores, self.pairs):
            if table is not None:
                table.verify()


def open_table(collection: Collection) -> ScoreTable | None:
    """The anchor scores of an index; None if it has none."""
    try:
        return ScoreTable.open(collection.path / SCORES)
    except NotAnIndex:
        if (collection.path / SCORES).exists():
            raise
        return None


def open_pairs(collection: Collection) -> PairTable | None:
    """The scored pairs of an index; None if it has none."""
    try:
        return PairTable.open(collection.path / PAIRS)
    except NotAnIndex:
        if (collection.path / PAIRS).exists():
            raise
        return None


def check_scorer(collection: Collection, made_of: Mapping[str, Any]) -> None:
    """Refuse a scorer that is not the one of the tables: their scores would not mix."""
    for table in (open_table(collection), open_pairs(collection)):
        if table is not None and table.state.made_of.get("files") != made_of.get("files"):
            known = table.state.made_of.get("model") or "a scorer of your own"
            raise ModelDiffers(
                f"{table.folder} was made with {known}, which is not the given one: give that, or remove the folder "
                "to begin anew"
            )


def drop_deleted_rows(collection: Collection) -> None:
    """Remove the anchor scores of deleted documents, and join the blocks of those that were added.

    Scores that are being written or not complete are left to the build, which does the same. Damaged ones, and those
    that cannot be written, are left as they are: whatever reads them says so, and the documents are compacted already.
    """
    with suppress(IndexFolderError):
        table = open_table(collection)
        if table is None or not table.state.anchors:
            return
        with table.writing() as writer:
            numbers, state = read_numbers(collection), writer.table.state  # read when no one can add rows any more
            if len(state.segments) > 1 or not np.isin(writer.table.numbers, numbers).all():
                writer.finish(numbers, state.anchors, state.ridge)


def copy_tables(collection: Collection, target: Path) -> None:
    """Copy the tables of an index into a folder, also while others write them."""
    for open_one in (open_table, open_pairs):
        table = open_one(collection)
        while table is not None:
            try:
                table.copy_to(target / table.folder.name)
                break
            except FileNotFoundError as error:
                before, table = table, open_one(collection)
                if table is not None and table.state == before.state:
                    raise damaged(error.filename, "is missing") from error


def carry_over(collection: Collection, moved: Moved) -> None:
    """Let documents whose metadata changed keep their scores and fitted vectors: those are of texts.

    Tables that are being written, are damaged or cannot be written stay as they are: the documents are changed already.
    Then the ordinary search finds them until they are scored again.
    """
    for open_one in (open_table, open_pairs):
        with suppress(IndexFolderError):
            table = open_one(collection)
            if table is not None:
                with table.writing() as writer:
                    writer.carry_over(moved.old, moved.new)


def read_numbers(collection: Collection) -> Numbers:
    """The numbers of all documents."""
    with collection.reading() as reader:
        return reader.read_all_numbers()


def describe_tables(collection: Collection) -> dict[str, Any]:
    """The scores and the anchors of an index, its scored pairs and fitted vectors."""
    tables, numbers = CrossTables.open(collection), read_numbers(collection)
    if tables.made_of is None:
        raise SettingError(f"{collection.path} has no scores of anchor queries: build them (asterism cross build)")
    found: dict[str, Any] = {"path": str(collection.path), "documents": len(numbers)}
    found["model"] = tables.made_of.get("model")
    if tables.scores is not None:
        table, state = tables.scores, tables.scores.state
        found |= {"scored": int(np.isin(numbers, table.numbers).sum()), "anchor_queries": table.width}
        found |= {"anchor_items": len(state.anchors), "ridge": state.ridge, "precision": state.precision}
        found |= {"bytes": table.bytes, "unfinished": not state.anchors}
    if tables.pairs is not None:
        pairs, fit = tables.pairs, tables.pairs.state.fit
        found |= {"pair_queries": len(pairs.state.queries), "pairs": len(pairs.scores)}
        found |= {"fitted": int(np.isin(numbers, pairs.numbers).sum()), "pair_bytes": pairs.bytes}
        found |= {"error_before": fit and fit.error_before, "error_after": fit and fit.error_after}
        found["unfinished"] = found.get("unfinished", False) or fit is None
    return found
