"""Repairs a damaged collection: intact parts stay, the rest is rebuilt from the texts.

  catalog    rebuilt from all rows whose checksums match, if any part of it is damaged
  segments   damaged ones are dropped; documents that are then in no segment are encoded again

Each step is committed. An interrupted repair leaves an index that says so, and the next repair continues it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...documents.document import Document
from ...errors import DamagedIndex, NotAnIndex
from ...representations import Representations
from ...settings import count_threads
from ...storage.arrays import verify_folders
from ...storage.faults import report_write_errors
from ...storage.folders import sweep_parts
from ...storage.lock import hold_writer_lock
from ...storage.manifest import MANIFEST
from ..base import Base
from ..catalog import Catalog
from ..connections import CATALOG
from ..format import PATIENCE, REPAIR, read_views
from ..kept_views import Views
from ..policy import Policy
from ..snapshot import Snapshot
from ..state import State, fingerprint
from ..stored_parts import StoredCodec, StoredSegment, open_stored_codec, open_stored_segment
from ..writer import CollectionWriter
from .catalog import mend_catalog

BATCH = 256
DAMAGE = (DamagedIndex, NotAnIndex)  # not errors of permission or descriptors, or a newer format

Represent = Callable[[list[Document], Views, dict[str, Any]], Representations]  # from documents, views, model


@dataclass(frozen=True)
class Repair:
    """What a repair did.

    catalog: whether it was rebuilt · dropped: damaged folders · represented: documents that were encoded again ·
    lost: documents whose own rows were damaged · forgotten: facts that could not be read.
    """

    catalog: bool
    dropped: tuple[str, ...]
    represented: int
    lost: int
    forgotten: tuple[str, ...] = ()


def repair_collection(folder: Path, represent: Represent, policy: Policy | None = None) -> Repair:
    """Repair what is damaged; an intact collection is not changed."""
    if not any(os.path.lexists(folder / name) for name in (MANIFEST, CATALOG)):
        raise NotAnIndex(f"{folder} holds neither a manifest nor a catalog: expected a folder that asterism built")
    with hold_writer_lock(folder, PATIENCE), report_write_errors(folder):
        rebuilt, lost = mend_catalog(folder)
        catalog = Catalog(folder)
        try:
            catalog.recover()
            with catalog.reading() as reader:
                sweep_parts(folder, reader.state().folders)
            dropped = _drop_damaged(folder, catalog, represent)
            represented = _represent_missing(folder, catalog, represent, policy or Policy())
            with catalog.reading() as reader:
                sweep_parts(folder, reader.state().folders)
        finally:
            catalog.close()
    return Repair(rebuilt, dropped, represented, lost)


def _drop_damaged(folder: Path, catalog: Catalog, represent: Represent) -> tuple[str, ...]:
    """Drop damaged segments and commit a consistent state that is marked as under repair."""
    with catalog.reading() as reader:
        state, numbers, tombstones = reader.state(), reader.read_all_numbers(), reader.tombstones()
        views, model = read_views(reader), reader.fact("model")
    codec, intact = _find_intact_parts(folder, state, views)
    held = np.concatenate([np.empty(0, np.int64), *(stored.numbers for stored in intact)])
    deleted = np.setdiff1d(held, numbers)
    kept = len(held) - len(deleted)
    parts = tuple(stored.part for stored in intact)
    dropped = {part.name for part in state.segments} - {part.name for part in parts}
    if state.codec is not None and codec is None:
        dropped.add(state.codec.name)
    whole = kept == len(numbers) == state.documents and np.array_equal(deleted, tombstones)
    if not dropped and whole and fingerprint(deleted) == state.tombstones:
        return ()
    with catalog.reading() as reader:
        one = reader.documents(np.setdiff1d(numbers, held)[:1].tolist())
    if one:
        represent(list(one.values()), views, model)  # fails before anything is dropped if the model is missing
    mended = replace(
        state,
        documents=kept,
        codec=None if codec is None else codec.part,
        segments=parts,
        tombstones=fingerprint(deleted),
    )
    with catalog.writing() as edit:
        edit.replace_tombstones(deleted)
        edit.put_fact(REPAIR, {"documents": len(numbers)})
        edit.put_state(mended)
    return tuple(sorted(dropped))


def _find_intact_parts(folder: Path, state: State, views: Views) -> tuple[StoredCodec | None, list[StoredSegment]]:
    """The codec, and the segments whose files are all intact; their numbers ascend over all segments."""
    codec = None
    if state.codec is not None:
        with suppress(*DAMAGE):
            codec = open_stored_codec(folder, state.codec)
    intact: list[StoredSegment] = []
    last = -1
    for part in state.segments:
        with suppress(*DAMAGE):
            stored = open_stored_segment(folder, part, codec)
            verify_folders(stored.folders, count_threads(0))
            numbers = stored.numbers
            rising = len(numbers) > 0 and numbers[0] > last and not (numbers[1:] <= numbers[:-1]).any()
            if rising and numbers[-1] < state.next_number and set(stored.views) == set(views.names):
                intact.append(stored)
                last = int(numbers[-1])
    return codec, intact


def _represent_missing(folder: Path, catalog: Catalog, represent: Represent, policy: Policy) -> int:
    """Encode the documents that no segment holds, in batches; returns how many there were."""
    with catalog.reading() as reader:
        views, model, repairing = read_views(reader), reader.fact("model"), reader.fact(REPAIR)
        snapshot = Snapshot.open(folder, reader, reader.state(), None)
        missing = np.setdiff1d(reader.read_all_numbers(), snapshot.numbers)
    if not repairing:
        return 0

    def open_newest() -> Snapshot:
        with catalog.reading() as reader:
            return Snapshot.open(folder, reader, reader.state(), snapshot)

    writer = CollectionWriter(folder, catalog, open_newest, Base.from_snapshot(snapshot), views, policy)
    for start in range(0, len(missing), BATCH):
        with catalog.reading() as reader:
            documents = reader.documents(missing[start : start + BATCH].tolist())
        writer.add_again(documents, represent(list(documents.values()), views, model))
    writer.settle()
    with catalog.writing() as edit:
        edit.put_fact(REPAIR, {})
    return len(missing)
