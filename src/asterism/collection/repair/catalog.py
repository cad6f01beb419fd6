"""Rebuilds a damaged catalog from all rows whose checksums match, or match after the correction of one byte.

The manifest has a second copy of views and model; fields follow from the documents. A row that an intact page lists is
current; any other row is used only if, by segments and tombstones, its document must exist. The new file replaces the
old one by one rename.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...documents.document import Document
from ...errors import DamagedIndex, InputError, NotAnIndex
from ...files.new_folders import fsync_path
from ...files.regular_files import is_real_folder
from ...settings import TokenBuild
from ...storage.arrays import map_file
from ...storage.byte_correction import correct_row, row_checksum
from ...storage.facts import Facts
from ...storage.folders import PART
from ...storage.manifest import read_manifest
from ..catalog import Catalog, CatalogEdit, create_catalog
from ..catalog_reader import read_document, read_fact
from ..connections import CATALOG
from ..format import KIND, REPAIR, VERSION, read_views, write_collection_manifest
from ..kept_views import Views
from ..state import State, complete_fingerprint, new_identity, upgrade_state
from ..stored_parts import read_numbers
from .salvage import DOCUMENT, FACT, TOMBSTONE, CatalogPages, Row

MAKING = "repair.new"  # the folder of the new catalog while it is written
MOST_DOUBTFUL = 100_000  # rows that are kept for a later attempt at correction
MOST_MISSED = 16  # candidate documents that are tried for a row whose number is damaged
SKIPPED = 1 << 32  # numbers, if it is not known which were used: scores of a deleted document may be kept by its number
KEPT_FACTS = ("views", "model", "fusion", "profile", "job", REPAIR)
KEPT_KINDS = ("file:", "folder:")  # begin the names of facts about files, of which there may be many


def mend_catalog(folder: Path) -> tuple[bool, int]:
    """Rebuild the catalog if it is damaged; returns whether it was, and how many documents are lost."""
    manifest: dict[str, Any] = {}
    with suppress(DamagedIndex, NotAnIndex):
        manifest = read_manifest(folder, KIND, VERSION).content
    for suffix in ("-wal", "-shm"):  # files of SQLite's WAL mode, which asterism does not use
        with suppress(FileNotFoundError, IsADirectoryError):
            os.unlink(folder / f"{CATALOG}{suffix}")
    rebuilt, lost = False, 0
    try:
        facts = _read_intact_facts(folder)
    except DamagedIndex:
        facts, lost = _rebuild(folder, manifest)
        rebuilt = True
    if rebuilt or manifest.get("version") != VERSION:
        write_collection_manifest(folder, facts["views"], facts["model"])
    return rebuilt, lost


def _read_intact_facts(folder: Path) -> dict[str, dict[str, Any]]:
    """Views and model of an undamaged catalog; raises DamagedIndex otherwise."""
    catalog = Catalog(folder)
    try:
        catalog.recover()
        with catalog.reading() as reader:
            reader.check()
            state = reader.state()
            facts = {"views": read_views(reader).to_json(), "model": reader.fact("model")}
        if state.tombstones is None:  # an earlier format
            with catalog.writing() as edit:
                edit.put_fact("views", facts["views"])
                edit.put_state(upgrade_state(state, edit.tombstones()))
        return facts
    finally:
        catalog.close()


def _rebuild(folder: Path, manifest: dict[str, Any]) -> tuple[dict[str, dict[str, Any]], int]:
    """Replace the damaged catalog by a new one with the rows that can be read."""
    making = folder / MAKING
    if is_real_folder(making):
        shutil.rmtree(making)
    making.mkdir()
    create_catalog(making, {})
    catalog = Catalog(making)
    salvage = Salvage(folder, CatalogPages(map_file(folder / CATALOG)))
    try:
        with catalog.writing() as edit:
            salvage.copy_documents(edit)
            facts = {
                name: dict(value)
                for name, value in salvage.facts.items()
                if name in KEPT_FACTS or name.startswith(KEPT_KINDS)
            }
            facts |= {name: manifest[name] for name in ("views", "model") if manifest.get(name)}
            facts.setdefault("model", {})
            Facts(facts, str(folder / CATALOG)).read("views", Views.from_json)  # raises if they are lost
            for name, value in facts.items():
                edit.put_fact(name, value)
            edit.replace_state(_next_state(folder, salvage.state, salvage.numbers))
    finally:
        catalog.close()
    with suppress(FileNotFoundError):
        os.unlink(folder / f"{CATALOG}-journal")  # the damaged catalog's journal must not be applied to the new one
    os.replace(making / CATALOG, folder / CATALOG)
    fsync_path(folder)
    shutil.rmtree(making, ignore_errors=True)
    return facts, max(0, salvage.expected - len(salvage.numbers))


class Salvage:
    """The readable rows of a damaged catalog.

    facts: by name · state: the newest · numbers: of the documents that were copied · expected: how many there were.
    """

    def __init__(self, folder: Path, pages: CatalogPages) -> None:
        """Read nothing yet."""
        self.facts: dict[str, dict[str, Any]] = {}
        self.state: State | None = None
        self.numbers: set[int] = set()
        self._folder = folder
        self._path = folder / CATALOG
        self._pages = pages
        self._ids: dict[str, int] = {}
        self._tombstones: set[int] = set()
        self._superseded = 0  # rows of documents that a later row has replaced

    @property
    def expected(self) -> int:
        """Number of documents before the damage; 0 if unknown."""
        before = self.facts.get(REPAIR, {}).get("documents", 0)
        counted = self.state.documents if self.state is not None else 0
        return max(before if isinstance(before, int) else 0, counted) - self._superseded

    def copy_documents(self, edit: CatalogEdit) -> None:
        """Copy the rows that pages list; of the others, only documents that segments hold and that are missing."""
        doubtful: list[Row] = []
        for row in self._pages.rows():
            if len(row.types) == TOMBSTONE and row.listed:
                self._tombstones.add(row.number)
            elif len(row.types) == FACT:
                self._take_fact(row)
            elif len(row.types) == DOCUMENT and row.are_texts(slice(1, 5)):
                document = self._read_document(row, row.number) if row.listed else None
                if document is not None:
                    self._copy(edit, row.number, document)
                elif len(doubtful) < MOST_DOUBTFUL:
                    doubtful.append(row)
        missed = self._find_missed()
        for row in doubtful:
            others = missed if row.listed and len(missed) <= MOST_MISSED else set()
            for number in {row.number} & missed or others:
                document = self._read_document(row, number)
                if document is not None and document.id not in self._ids:
                    self._copy(edit, number, document)
                    missed = missed - {number}
                    break

    def _take_fact(self, row: Row) -> None:
        checksum = row.integer(2)
        right = None if checksum is None else correct_row(b"\0".join(row.columns[:2]), checksum)
        if right is None:
            return
        with suppress(DamagedIndex, InputError, TypeError, ValueError):
            name, value = right.decode().split("\0")
            found = read_fact((name, value, row_checksum(right)), self._path)
            if name == "state":
                state = State.from_facts(Facts(found, str(self._path)))
                if self.state is None or state.generation > self.state.generation:
                    self.state = state
            elif name == "settings":
                self.facts.setdefault("views", Views(TokenBuild.from_json(found)).to_json())
            elif row.listed or (name not in self.facts and not name.startswith(KEPT_KINDS)):
                self.facts[name] = found

    def _read_document(self, row: Row, number: int) -> Document | None:
        """The row as the document `number`, perhaps with one byte corrected; None if its checksum does not match."""
        checksum = row.integer(5)
        content = b"\0".join((str(number).encode(), *row.columns[1:5]))
        right = None if checksum is None else correct_row(content, checksum)
        if right is None:
            return None
        with suppress(ValueError, DamagedIndex):
            stored, *texts = right.decode().split("\0")
            if int(stored) == number:
                return read_document((number, *texts, row_checksum(right)), self._path)
        return None

    def _copy(self, edit: CatalogEdit, number: int, document: Document) -> None:
        """Copy a document; of two documents with the same id, the later one wins."""
        other = self._ids.get(document.id, -1)
        if other > number or number in self.numbers:
            self._superseded += other > number
            return
        if other >= 0:
            edit.remove([other])
            self.numbers.discard(other)
            self._superseded += 1
        edit.insert_numbered([(number, document)])
        self.numbers.add(number)
        self._ids[document.id] = number

    def _find_missed(self) -> set[int]:
        """Documents of segments, without tombstones, that were not found; empty if the tombstones are unclear."""
        if self.state is None:
            return set()
        held: set[int] = set()
        for part in self.state.segments:
            with suppress(DamagedIndex, NotAnIndex):
                held.update(read_numbers(self._folder, part).tolist())
        deleted = complete_fingerprint(self._tombstones, self.state.tombstones, held)
        return set() if deleted is None else held - deleted - self.numbers


def _next_state(folder: Path, state: State | None, numbers: set[int]) -> State:
    """The state of the new catalog, with all old segments; these are checked in the next step."""
    kept = state or State()
    unused = max(numbers, default=-1) + 1 + (SKIPPED if state is None else 0)
    folders = [int(name.rpartition("-")[2]) for name in os.listdir(folder) if PART.fullmatch(name)]
    return replace(
        kept,
        documents=len(numbers),
        next_number=max(kept.next_number, unused),
        next_folder=max(kept.next_folder, max(folders, default=0) + 1),
        tombstones=0,
        identity=kept.identity or new_identity(),
    )
