"""The catalog of a collection: documents, filterable fields, tombstones and the list of segments, in SQLite.

Its transaction is the collection's commit point. Rollback journal, not WAL: one file, readable from a read-only folder.
A document's row is never changed: an update gives the document a new number, so that a reader's results stay valid.
Rows of documents and facts have checksums, because SQLite has none; fields and tombstones can be checked against them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..documents.document import Document
from ..errors import IndexFolderError
from ..files.json_text import parse_json
from ..storage.byte_correction import row_checksum
from .catalog_reader import AT_ONCE, CatalogReader, join_columns
from .connections import CATALOG, SCHEMA, Connections, connect, translate_errors
from .filters import list_fields
from .state import Numbers, State, fingerprint, new_identity

PAGES_AT_ONCE = 2000  # freed in one transaction, so that readers do not wait long


class Catalog:
    """`reading` and `writing` start a transaction, in any thread."""

    def __init__(self, folder: Path) -> None:
        """The file must exist; see `create_catalog`."""
        self.path = folder / CATALOG
        self._connections = Connections(self.path)

    def close(self) -> None:
        """Release the file."""
        self._connections.close()

    @contextmanager
    def reading(self) -> Iterator[CatalogReader]:
        """A transaction that sees one committed state, also while others write."""
        with self._connections.reading() as connection:
            yield CatalogReader(connection, self.path)

    @contextmanager
    def writing(self) -> Iterator[CatalogEdit]:
        """Commit on success, roll back after an error; the caller must hold the writer lock."""
        with self._connections.writing() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield CatalogEdit(connection, self.path)
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def recover(self) -> None:
        """Undo the unfinished commit of a killed writer; the caller must hold the writer lock."""
        with self._connections.writing():
            pass  # connecting reads the tables, and SQLite undoes the commit before that

    def shrink(self) -> None:
        """Free the disk space of removed rows, a few pages at a time."""
        with self._connections.writing() as connection:
            if connection.execute("PRAGMA auto_vacuum").fetchone()[0] == 0:  # written by an earlier version
                connection.execute("VACUUM")
            before, left = None, connection.execute("PRAGMA freelist_count").fetchone()[0]
            while left and left != before:
                connection.execute(f"PRAGMA incremental_vacuum({PAGES_AT_ONCE})").fetchall()
                before, left = left, connection.execute("PRAGMA freelist_count").fetchone()[0]


class CatalogEdit(CatalogReader):
    """Reads and writes within one transaction."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        """Use the connection of an open transaction."""
        super().__init__(connection, path)
        self._buried = 0  # fingerprint of added tombstones minus that of removed ones

    def put_fact(self, name: str, value: dict[str, Any]) -> None:
        """Store a JSON object."""
        text = json.dumps(value, sort_keys=True)
        checksum = row_checksum(f"{name}\0{text}".encode())
        self._connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", (name, text, checksum))

    def put_facts(self, facts: Mapping[str, dict[str, Any] | None]) -> None:
        """Store JSON objects by their names; None removes one."""
        for name, value in facts.items():
            if value is None:
                self._connection.execute("DELETE FROM facts WHERE name = ?", (name,))
            else:
                self.put_fact(name, value)

    def put_state(self, state: State) -> State:
        """Store the next generation with this transaction's changes to the tombstones; call it once, at the end.

        Refused if `state` does not build on the stored one: an error may hide that a commit went through.
        """
        stored = parse_json(self.state_text())
        if not isinstance(stored, dict) or stored.get("generation") != state.generation:
            raise IndexFolderError(f"{self.path} has changed since its state was read: begin this write again")
        return self.replace_state(state)

    def replace_state(self, state: State) -> State:
        """Store it whatever is there; for a new catalog."""
        stored = state.commit(self._buried, f"{self.path}: the next state")
        self.put_fact("state", asdict(stored))
        return stored

    def insert(self, first_number: int, documents: Iterable[Document]) -> None:
        """Insert documents, numbered from `first_number`."""
        self.insert_numbered(enumerate(documents, first_number))

    def insert_numbered(self, documents: Iterable[tuple[int, Document]]) -> None:
        """Insert documents with their numbers, which must be unused."""
        for number, document in documents:
            metadata = json.dumps(document.metadata, ensure_ascii=False, separators=(",", ":"))
            content = (number, document.id, document.title, document.text, metadata)
            self._connection.execute(
                "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?)", (*content, row_checksum(join_columns(*content)))
            )
            entries = [(*entry, number) for entry in list_fields(document.metadata)]
            self._connection.executemany("INSERT INTO fields VALUES (?, ?, ?, ?)", entries)

    def bury(self, numbers: Sequence[int]) -> None:
        """Remove documents and add tombstones; refused if one of them is not there."""
        if self.remove(numbers) < len(set(numbers)):
            raise IndexFolderError(f"{self.path}: documents to be removed are gone already: begin this write again")
        self._connection.executemany("INSERT INTO tombstones VALUES (?)", ((int(number),) for number in numbers))
        self._buried += fingerprint(numbers)

    def remove(self, numbers: Sequence[int]) -> int:
        """Remove documents that no segment holds any more; returns how many there were."""
        removed = 0
        for start in range(0, len(numbers), AT_ONCE):  # their texts may be larger than memory
            for number, document in self.documents(numbers[start : start + AT_ONCE]).items():
                entries = [(*entry, number) for entry in list_fields(document.metadata)]
                condition = "name = ? AND kind = ? AND value = ? AND number = ?"
                self._connection.executemany(f"DELETE FROM fields WHERE {condition}", entries)
                self._connection.execute("DELETE FROM documents WHERE number = ?", (number,))
                removed += 1
        return removed

    def replace_tombstones(self, numbers: Numbers) -> None:
        """Replace all tombstones; for a repair, which sets their fingerprint itself."""
        self._connection.execute("DELETE FROM tombstones")
        self._connection.executemany("INSERT INTO tombstones VALUES (?)", ((int(number),) for number in numbers))

    def clear_tombstones(self, numbers: Numbers) -> None:
        """Remove the tombstones of documents that no segment holds any more."""
        rows = ((int(number),) for number in numbers)
        self._connection.executemany("DELETE FROM tombstones WHERE number = ?", rows)
        self._buried -= fingerprint(numbers)


def create_catalog(folder: Path, facts: Mapping[str, dict[str, Any]]) -> None:
    """Create a catalog with an empty state and these facts."""
    path = folder / CATALOG
    with translate_errors(path):
        connection = connect(path, "rwc")
        try:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # see Catalog.shrink
            connection.execute("BEGIN IMMEDIATE")
            for statement in SCHEMA.split(";\n"):
                connection.execute(statement)
            edit = CatalogEdit(connection, path)
            for name, value in facts.items():
                edit.put_fact(name, value)
            edit.replace_state(State(identity=new_identity()))
            connection.execute("COMMIT")
        finally:
            connection.close()
