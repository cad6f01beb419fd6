"""A damaged collection made whole again: what is intact stays, the rest is made anew from the texts.

  catalog    if something in it is damaged: a new one, from all rows whose checksums are right
  segments   those that are damaged are left out; documents that no segment holds then are represented again

Everything is committed in steps. A repair that is stopped leaves an index that says so, and the next one goes on.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..corpus import Document
from ..errors import DamagedIndex, IndexFolderError, NotAnIndex
from ..regular_files import is_real_folder
from ..representations import Representations
from ..settings import TokenBuild, cores
from ..storage.arrays import map_file, verify_folders
from ..storage.facts import Facts
from ..storage.faults import writes_reported
from ..storage.folders import PART, fsync_folder, sweep_parts
from ..storage.lock import writing
from ..storage.manifest import read_manifest
from .catalog import Catalog, create_catalog, document_of, fact_of
from .catalog_connections import CATALOG
from .catalog_salvage import CatalogBytes
from .catalog_state import State, fingerprint
from .collection_format import KIND, PATIENCE, REPAIR, VERSION, views_of, write_collection_manifest
from .collection_writer import CollectionWriter
from .snapshot import Snapshot
from .stored_parts import StoredCodec, StoredSegment, open_stored_codec, open_stored_segment, read_numbers
from .views import Views

BATCH = 256
MAKING = "repair.new"  # a folder, for the new catalog

Represent = Callable[[list[Document], Views, dict[str, Any]], Representations]  # of documents, views and model


@dataclass(frozen=True)
class Repair:
    """What was done.

    catalog: whether it was made anew · dropped: folders that were damaged · represented: documents that were
    represented again · lost: documents whose own rows were damaged.
    """

    catalog: bool
    dropped: tuple[str, ...]
    represented: int
    lost: int


def repair_collection(folder: Path, represent: Represent) -> Repair:
    """Mend what is damaged; nothing is changed where nothing is."""
    with writing(folder, PATIENCE), writes_reported(folder):
        rebuilt, lost = _mend_catalog(folder)
        catalog = Catalog(folder)
        try:
            dropped = _drop_damaged(folder, catalog)
            represented = _represent_missing(folder, catalog, represent)
            with catalog.reading() as view:
                sweep_parts(folder, view.state().folders)
        finally:
            catalog.close()
    return Repair(rebuilt, dropped, represented, lost)


def _mend_catalog(folder: Path) -> tuple[bool, int]:
    """Whether a new catalog was made, and how many documents are not in it."""
    manifest: dict[str, Any] = {}
    with suppress(DamagedIndex, NotAnIndex):
        manifest = read_manifest(folder, KIND, VERSION).content
    if not manifest and not os.path.lexists(folder / CATALOG):
        raise NotAnIndex(f"{folder} holds neither a manifest nor a catalog: expected a folder that asterism built")
    rebuilt, lost = False, 0
    try:
        facts = _intact_facts(folder)
    except DamagedIndex:
        facts, lost = _rebuild(folder, manifest)
        rebuilt = True
    if rebuilt or manifest.get("version") != VERSION:
        write_collection_manifest(folder, facts["views"], facts["model"])
    return rebuilt, lost


def _intact_facts(folder: Path) -> dict[str, dict[str, Any]]:
    """Views and model of a catalog in which everything is right."""
    catalog = Catalog(folder)
    try:
        catalog.recover()
        with catalog.reading() as view:
            view.check()
            state = view.state()
            facts = {"views": views_of(view).as_json(), "model": view.fact("model")}
        if state.tombstones is None:  # an earlier format
            with catalog.writing() as edit:
                edit.put_fact("views", facts["views"])
                edit.put_state(replace(state, tombstones=fingerprint(edit.tombstones())))
        return facts
    finally:
        catalog.close()


def _rebuild(folder: Path, manifest: dict[str, Any]) -> tuple[dict[str, dict[str, Any]], int]:
    """A new catalog of the rows that are left, in place of the damaged one."""
    content = CatalogBytes(map_file(folder / CATALOG))
    facts, state = _salvaged_facts(content, folder / CATALOG)
    for name in ("views", "model"):
        facts.setdefault(name, manifest.get(name, {}))
    Facts(facts, str(folder / CATALOG)).read("views", Views.of)  # without them nothing can be represented
    may_live = _may_live(folder, state)
    making = folder / MAKING
    if is_real_folder(making):
        shutil.rmtree(making)
    making.mkdir()
    create_catalog(making, facts)
    catalog = Catalog(making)
    try:
        with catalog.writing() as edit:
            numbers: set[int] = set()
            edit.insert_numbered(_salvaged_documents(content, folder / CATALOG, may_live, numbers))
            edit.put_state(_next_state(folder, state, numbers))
    finally:
        catalog.close()
    with suppress(FileNotFoundError):
        os.unlink(folder / f"{CATALOG}-journal")  # of the damaged one: it must not be applied to the new
    os.replace(making / CATALOG, folder / CATALOG)
    fsync_folder(folder)
    shutil.rmtree(making, ignore_errors=True)
    return facts, max(0, state.documents - len(numbers)) if state is not None else 0


def _salvaged_facts(content: CatalogBytes, path: Path) -> tuple[dict[str, dict[str, Any]], State | None]:
    """Views, model and what hybrid search means; and the newest state."""
    facts: dict[str, dict[str, Any]] = {}
    states: list[State] = []
    for row in content.fact_rows():
        with suppress(DamagedIndex):
            found = fact_of(row, path)
            if row[0] == "state":
                states.append(State.from_facts(Facts(found, str(path))))
            elif row[0] == "settings":
                facts["views"] = Views(TokenBuild.of(found)).as_json()
            elif row[0] in ("views", "model", "fusion"):
                facts[row[0]] = found
    return facts, max(states, key=lambda state: state.generation, default=None)


def _salvaged_documents(
    content: CatalogBytes, path: Path, may_live: Callable[[int], bool], numbers: set[int]
) -> Iterator[tuple[int, Document]]:
    """Each document once; their numbers are noted, and so are the ids, of which each has one document."""
    ids: set[str] = set()
    for row in content.document_rows():
        if row[0] in numbers or row[1] in ids or not may_live(row[0]):
            continue
        with suppress(DamagedIndex):
            document = document_of(row, path)
            numbers.add(row[0])
            ids.add(document.id)
            yield row[0], document


def _may_live(folder: Path, state: State | None) -> Callable[[int], bool]:
    """Whether a document with a number can be alive: a segment holds it, or may hold it, being damaged."""
    if state is None:
        return lambda number: True
    held: set[int] = set()
    between: list[tuple[int, int]] = []  # first and last numbers that a damaged segment may hold
    last, unknown = -1, False
    for part in state.segments:
        try:
            numbers = read_numbers(folder, part).tolist()
        except IndexFolderError:
            unknown = True
            continue
        if unknown and numbers:
            between.append((last + 1, numbers[0] - 1))
        if numbers:
            held.update(numbers)
            last, unknown = numbers[-1], False
    if unknown:
        between.append((last + 1, state.next_number - 1))
    return lambda number: number in held or any(first <= number <= end for first, end in between)


def _next_state(folder: Path, state: State | None, numbers: set[int]) -> State:
    """The state of a new catalog: all segments of the old one, whose damage is looked for next."""
    kept = state or State()
    folders = [int(name.rpartition("-")[2]) for name in os.listdir(folder) if PART.fullmatch(name)]
    return replace(
        kept,
        generation=kept.generation + 1,
        documents=len(numbers),
        next_number=max(kept.next_number, max(numbers, default=-1) + 1),
        next_folder=max(kept.next_folder, max(folders, default=0) + 1),
        tombstones=0,
    )


def _drop_damaged(folder: Path, catalog: Catalog) -> tuple[str, ...]:
    """Leave out segments that are damaged; what remains is consistent, and says that a repair goes on."""
    with catalog.reading() as view:
        state, numbers, tombstones, views = view.state(), view.all_numbers(), view.tombstones(), views_of(view)
    codec, intact = _intact_parts(folder, state, views)
    held = np.concatenate([np.empty(0, np.int64), *(stored.numbers for stored in intact)])
    dead = np.setdiff1d(held, numbers)
    living = len(held) - len(dead)
    parts = tuple(stored.part for stored in intact)
    dropped = {part.name for part in state.segments} - {part.name for part in parts}
    if state.codec is not None and codec is None:
        dropped.add(state.codec.name)
    whole = living == len(numbers) == state.documents and np.array_equal(dead, tombstones)
    if not dropped and whole and fingerprint(dead) == state.tombstones:
        return ()
    mended = replace(
        state,
        generation=state.generation + 1,
        documents=living,
        codec=None if codec is None else codec.part,
        segments=parts,
        tombstones=fingerprint(dead),
    )
    with catalog.writing() as edit:
        edit.replace_tombstones(dead)
        edit.put_fact(REPAIR, {"documents": len(numbers)})
        edit.put_state(mended)
    return tuple(sorted(dropped))


def _intact_parts(folder: Path, state: State, views: Views) -> tuple[StoredCodec | None, list[StoredSegment]]:
    """The codec, and segments whose files are all as they were written, with numbers that rise through all of them."""
    codec = None
    if state.codec is not None:
        with suppress(IndexFolderError):
            codec = open_stored_codec(folder, state.codec)
    intact: list[StoredSegment] = []
    last = -1
    for part in state.segments:
        with suppress(IndexFolderError):
            stored = open_stored_segment(folder, part, codec)
            verify_folders(stored.folders, cores(0))
            numbers = stored.numbers
            rising = len(numbers) > 0 and numbers[0] > last and not (numbers[1:] <= numbers[:-1]).any()
            if rising and numbers[-1] < state.next_number and set(stored.views) == set(views.names):
                intact.append(stored)
                last = int(numbers[-1])
    return (codec if intact else None), intact


def _represent_missing(folder: Path, catalog: Catalog, represent: Represent) -> int:
    """Documents that no segment holds, a batch at a time; returns how many there were."""
    with catalog.reading() as view:
        views, model, repairing = views_of(view), view.fact("model"), view.fact(REPAIR)
        snapshot = Snapshot.open(folder, view, None)
        missing = np.setdiff1d(view.all_numbers(), snapshot.numbers)
    if not repairing:
        return 0
    opened = Opened(folder, catalog, snapshot)
    writer = CollectionWriter(folder, catalog, opened.newest, views)
    for start in range(0, len(missing), BATCH):
        with catalog.reading() as view:
            documents = view.documents(missing[start : start + BATCH].tolist())
        writer.add_again(documents, represent(list(documents.values()), views, model))
    writer.settle()
    with catalog.writing() as edit:
        edit.put_fact(REPAIR, {})
    return len(missing)


class Opened:
    """The newest state of a collection that is being repaired, which nobody else opens."""

    def __init__(self, folder: Path, catalog: Catalog, snapshot: Snapshot) -> None:
        """`snapshot` is what is open already."""
        self._folder = folder
        self._catalog = catalog
        self._snapshot = snapshot

    def newest(self) -> Snapshot:
        """What is open stays open."""
        with self._catalog.reading() as view:
            self._snapshot = Snapshot.open(self._folder, view, self._snapshot)
        return self._snapshot
