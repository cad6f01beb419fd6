"""A damaged catalog made anew, from all rows whose checksums are right, or wrong by one byte that can be found.

Views and model are in the manifest a second time; fields follow from the documents; which documents are alive, the
segments tell. The new file takes the old one's place by one rename.
"""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..corpus import Document
from ..errors import DamagedIndex, NotAnIndex
from ..regular_files import is_real_folder
from ..settings import TokenBuild
from ..storage.arrays import map_file
from ..storage.byte_correction import correct_byte
from ..storage.facts import Facts
from ..storage.folders import PART, fsync_folder
from ..storage.manifest import read_manifest
from .catalog import Catalog, create_catalog, document_of, fact_of
from .catalog_connections import CATALOG
from .catalog_salvage import CatalogBytes, DocumentRow
from .catalog_state import State, fingerprint
from .collection_format import KIND, VERSION, views_of, write_collection_manifest
from .stored_parts import read_numbers
from .views import Views

MAKING = "repair.new"  # a folder, for the new catalog
MOST_DOUBTFUL = 100_000  # rows that are kept to be corrected
MOST_MISSED = 16  # documents that are tried where a row does not tell its number


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
    found = _Documents(content, folder / CATALOG, _living(folder, state))
    making = folder / MAKING
    if is_real_folder(making):
        shutil.rmtree(making)
    making.mkdir()
    create_catalog(making, facts)
    catalog = Catalog(making)
    try:
        with catalog.writing() as edit:
            edit.insert_numbered(found)
            edit.put_state(_next_state(folder, state, found.numbers))
    finally:
        catalog.close()
    with suppress(FileNotFoundError):
        os.unlink(folder / f"{CATALOG}-journal")  # of the damaged one: it must not be applied to the new
    os.replace(making / CATALOG, folder / CATALOG)
    fsync_folder(folder)
    shutil.rmtree(making, ignore_errors=True)
    return facts, max(0, state.documents - len(found.numbers)) if state is not None else 0


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


class _Documents:
    """Documents found in the bytes of a catalog, each once; `numbers` are those of all that were given so far."""

    def __init__(self, content: CatalogBytes, path: Path, living: Living) -> None:
        self.numbers: set[int] = set()
        self._content = content
        self._path = path
        self._living = living
        self._ids: set[str] = set()

    def __iter__(self) -> Iterator[tuple[int, Document]]:
        """Those whose checksums are right; then those that are right but for one byte, if they are missed."""
        doubtful: list[DocumentRow] = []
        for row in self._content.document_rows():
            found = self._taken(
                row.message(number) for number in row.numbers if zlib.crc32(row.message(number)) == row.checksum
            )
            if found is not None:
                yield found
            elif len(doubtful) < MOST_DOUBTFUL:
                doubtful.append(row)
        for row in doubtful:
            missed = self._living.held - self.numbers
            likely = missed.intersection(row.numbers) or (missed if len(missed) <= MOST_MISSED else ())
            corrected = (correct_byte(row.message(number), row.checksum & 0xFFFFFFFF) for number in likely)
            found = self._taken(message for message in corrected if message is not None)
            if found is not None:
                yield found

    def _taken(self, messages: Iterable[bytes]) -> tuple[int, Document] | None:
        """The first that is a document, that may be alive, and that was not taken before."""
        for message in messages:
            with suppress(ValueError, DamagedIndex):
                number, *texts = message.decode().split("\0")
                document = document_of((int(number), *texts, zlib.crc32(message)), self._path)
                if int(number) in self.numbers or document.id in self._ids or not self._living.may_hold(int(number)):
                    continue
                self.numbers.add(int(number))
                self._ids.add(document.id)
                return int(number), document
        return None


@dataclass(frozen=True)
class Living:
    """Which documents may be alive: numbers that a segment holds, and ranges of what damaged segments may hold."""

    held: frozenset[int] = frozenset()
    ranges: tuple[tuple[int, int], ...] = ((0, 2**62),)

    def may_hold(self, number: int) -> bool:
        """Whether some segment does, or being damaged may."""
        return number in self.held or any(first <= number <= last for first, last in self.ranges)


def _living(folder: Path, state: State | None) -> Living:
    if state is None:
        return Living()
    held: set[int] = set()
    ranges: list[tuple[int, int]] = []
    last, unknown = -1, False
    for part in state.segments:
        try:
            numbers = read_numbers(folder, part).tolist()
        except (DamagedIndex, NotAnIndex):
            unknown = True
            continue
        if unknown and numbers:
            ranges.append((last + 1, numbers[0] - 1))
        if numbers:
            held.update(numbers)
            last, unknown = numbers[-1], False
    if unknown:
        ranges.append((last + 1, state.next_number - 1))
    return Living(frozenset(held), tuple(ranges))


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
