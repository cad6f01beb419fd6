"""A damaged catalog made anew, from all rows whose checksums are right.

Views and model are in the manifest a second time; fields follow from the documents; which documents are alive, the
segments tell. The new file takes the old one's place by one rename.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..corpus import Document
from ..errors import DamagedIndex, NotAnIndex
from ..regular_files import is_real_folder
from ..settings import TokenBuild
from ..storage.arrays import map_file
from ..storage.facts import Facts
from ..storage.folders import PART, fsync_folder
from ..storage.manifest import read_manifest
from .catalog import Catalog, create_catalog, document_of, fact_of
from .catalog_connections import CATALOG
from .catalog_salvage import CatalogBytes
from .catalog_state import State, fingerprint
from .collection_format import KIND, VERSION, views_of, write_collection_manifest
from .stored_parts import read_numbers
from .views import Views

MAKING = "repair.new"  # a folder, for the new catalog


def mend_catalog(folder: Path) -> tuple[bool, int]:
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
        except (DamagedIndex, NotAnIndex):
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
