"""The catalog of a collection: documents, filterable fields, tombstones and the list of segments, in SQLite.

Its transaction is the collection's commit point. Rollback journal, not WAL: one file, readable from a read-only folder.
A document's row is never changed: an update gives it a new number, so that what a reader found stays what it was.
Every row that is read carries a checksum, because SQLite has none; fields and tombstones follow from the others.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..documents.document import Document
from ..errors import DamagedIndex, DocumentError
from ..files.json_text import parse_json
from ..storage.byte_correction import is_row_checksum, row_checksum
from ..storage.facts import Facts
from ..storage.faults import damaged
from .connections import CATALOG, SCHEMA, Connections, connect, translate_errors
from .filters import Compare, Kind, OneOf, Value, list_fields
from .state import Numbers, State, fingerprint, new_identity

AT_ONCE = 500  # parameters of one statement
PAGES_AT_ONCE = 2000  # given back to the disk in one transaction: readers do not wait long


class Catalog:
    """`reading` and `writing` give a transaction, in any thread."""

    def __init__(self, folder: Path) -> None:
        """The file must exist; see `create_catalog`."""
        self.path = folder / CATALOG
        self._connections = Connections(self.path)

    def close(self) -> None:
        """Release the file."""
        self._connections.close()

    @contextmanager
    def reading(self) -> Iterator[CatalogReader]:
        """One committed state, whatever others write meanwhile."""
        with self._connections.reading() as connection:
            yield CatalogReader(connection, self.path)

    @contextmanager
    def writing(self) -> Iterator[CatalogEdit]:
        """Committed when the block ends well, undone when it does not; only for who holds the writer's lock."""
        with self._connections.writing() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield CatalogEdit(connection, self.path)
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def recover(self) -> None:
        """Undo what a killed writer left half done; only for the holder of the writer's lock."""
        with self._connections.writing():
            pass  # connecting reads the tables, and before that SQLite undoes it

    def shrink(self) -> None:
        """Give the pages of removed rows back to the disk, a few at a time."""
        with self._connections.writing() as connection:
            if connection.execute("PRAGMA auto_vacuum").fetchone()[0] == 0:  # written by an earlier version
                connection.execute("VACUUM")
            before, left = None, connection.execute("PRAGMA freelist_count").fetchone()[0]
            while left and left != before:
                connection.execute(f"PRAGMA incremental_vacuum({PAGES_AT_ONCE})").fetchall()
                before, left = left, connection.execute("PRAGMA freelist_count").fetchone()[0]


class CatalogReader:
    """What can be read within a transaction."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        """Of one transaction."""
        self._connection = connection
        self.path = path

    def state(self) -> State:
        """The committed state."""
        return State.from_facts(self.facts("state"))

    def state_text(self) -> str:
        """The committed state as it is stored, unchecked: to see whether it is one that is known."""
        row = self._connection.execute("SELECT value FROM facts WHERE name = 'state'").fetchone()
        return str(row[0]) if row else ""

    def facts(self, name: str) -> Facts:
        """A stored JSON object, which must be there."""
        return Facts(self.fact(name), f"{self.path}: its {name}")

    def fact(self, name: str) -> dict[str, Any]:
        """A stored JSON object; {} if there is none."""
        row = self._connection.execute("SELECT name, value, crc32 FROM facts WHERE name = ?", (name,)).fetchone()
        return {} if row is None else read_fact(row, self.path)

    def tombstones(self) -> Numbers:
        """Numbers of documents that segments still hold and that are gone, rising."""
        return self._read_numbers("SELECT number FROM tombstones ORDER BY number")

    def find_numbers(self, ids: Sequence[str]) -> dict[str, int]:
        """Of those ids that exist."""
        found: dict[str, int] = {}
        for start in range(0, len(ids), AT_ONCE):
            part = ids[start : start + AT_ONCE]
            marks = ",".join("?" * len(part))
            found.update(self._connection.execute(f"SELECT id, number FROM documents WHERE id IN ({marks})", part))
        return found

    def documents(self, numbers: Sequence[int]) -> dict[int, Document]:
        """Of those numbers that exist."""
        found = {}
        for start in range(0, len(numbers), AT_ONCE):
            part = [int(number) for number in numbers[start : start + AT_ONCE]]
            marks = ",".join("?" * len(part))
            for row in self._connection.execute(f"SELECT * FROM documents WHERE number IN ({marks})", part):
                found[row[0]] = read_document(row, self.path)
        return found

    def iterate_documents(self) -> Iterator[tuple[int, Document]]:
        """In the order in which they were added."""
        for row in self._connection.execute("SELECT * FROM documents ORDER BY number"):
            yield row[0], read_document(row, self.path)

    def read_all_numbers(self) -> Numbers:
        """Of all documents, rising."""
        return np.sort(self._read_numbers("SELECT number FROM documents"))

    def match(self, condition: Compare | OneOf) -> Iterator[Numbers]:
        """Numbers of the documents for which a comparison holds, in parts, in no order, some perhaps repeated."""
        start = "SELECT DISTINCT number FROM fields WHERE name = ?"
        if isinstance(condition, OneOf):
            wanted: dict[Kind, list[Value]] = {}
            for kind, value in condition.values:
                wanted.setdefault(kind, []).append(value)
            for kind, values in wanted.items():
                for first in range(0, len(values), AT_ONCE):
                    part = values[first : first + AT_ONCE]
                    marks = ",".join("?" * len(part))
                    yield self._read_numbers(
                        f"{start} AND kind = ? AND value IN ({marks})", condition.field, kind, *part
                    )
        elif condition.sign == "any":
            yield self._read_numbers(start, condition.field)
        else:
            compared = f"{start} AND kind = ? AND value {condition.sign} ?"
            yield self._read_numbers(compared, condition.field, condition.kind, condition.value)

    def check(self) -> None:
        """Everything that SQLite and our checksums can tell; raises DamagedIndex."""
        report = [row[0] for row in self._connection.execute("PRAGMA integrity_check(1)")]
        if report != ["ok"]:
            raise damaged(self.path, f"is damaged ({str(report[0]).splitlines()[-1]})")
        for row in self._connection.execute("SELECT name, value, crc32 FROM facts"):
            read_fact(row, self.path)
        balance = 0  # of all fields that there must be, less those that there are: the order does not matter
        for number, document in self.iterate_documents():
            balance += sum(hash(repr((*entry, number))) for entry in list_fields(document.metadata))
        for row in self._connection.execute("SELECT name, kind, value, number FROM fields"):
            balance -= hash(repr(row))  # a repr, because hash(-1) is hash(-2), and that of "a" is that of b"a"
        if balance:
            raise damaged(self.path, "has fields that are not those of its documents")

    def _read_numbers(self, statement: str, *parameters: object) -> Numbers:
        rows = self._connection.execute(statement, parameters)
        try:
            return np.fromiter((row[0] for row in rows), np.int64)
        except (TypeError, ValueError, OverflowError) as error:
            raise _changed(self.path, "a document's number") from error


class CatalogEdit(CatalogReader):
    """What can be written within a transaction."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        """Of one transaction."""
        super().__init__(connection, path)
        self._buried = 0  # fingerprint of tombstones that came, less those that went

    def put_fact(self, name: str, value: dict[str, Any]) -> None:
        """Store a JSON object."""
        text = json.dumps(value, sort_keys=True)
        checksum = row_checksum(f"{name}\0{text}".encode())
        self._connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", (name, text, checksum))

    def put_state(self, state: State) -> State:
        """The next generation, with the tombstones that came and went in this transaction: once, at its end."""
        stored = state.commit(self._buried, f"{self.path}: the next state")
        self.put_fact("state", asdict(stored))
        return stored

    def insert(self, first_number: int, documents: Iterable[Document]) -> None:
        """Documents numbered from `first_number` on."""
        self.insert_numbered(enumerate(documents, first_number))

    def insert_numbered(self, documents: Iterable[tuple[int, Document]]) -> None:
        """Documents with their numbers, which are free."""
        for number, document in documents:
            metadata = json.dumps(document.metadata, ensure_ascii=False, separators=(",", ":"))
            content = (number, document.id, document.title, document.text, metadata)
            self._connection.execute(
                "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?)", (*content, row_checksum(_join_columns(*content)))
            )
            entries = [(*entry, number) for entry in list_fields(document.metadata)]
            self._connection.executemany("INSERT INTO fields VALUES (?, ?, ?, ?)", entries)

    def bury(self, numbers: Sequence[int]) -> None:
        """Remove documents and leave tombstones."""
        self.remove(numbers)
        self._connection.executemany("INSERT INTO tombstones VALUES (?)", ((int(number),) for number in numbers))
        self._buried += fingerprint(numbers)

    def remove(self, numbers: Sequence[int]) -> None:
        """Remove documents that no segment holds any more."""
        for number, document in self.documents(numbers).items():
            entries = [(*entry, number) for entry in list_fields(document.metadata)]
            condition = "name = ? AND kind = ? AND value = ? AND number = ?"
            self._connection.executemany(f"DELETE FROM fields WHERE {condition}", entries)
            self._connection.execute("DELETE FROM documents WHERE number = ?", (number,))

    def replace_tombstones(self, numbers: Numbers) -> None:
        """All of them, whatever was there before: for a repair, which puts the state itself."""
        self._connection.execute("DELETE FROM tombstones")
        self._connection.executemany("INSERT INTO tombstones VALUES (?)", ((int(number),) for number in numbers))

    def clear_tombstones(self, numbers: Numbers) -> None:
        """Of documents that no segment holds any more."""
        rows = ((int(number),) for number in numbers)
        self._connection.executemany("DELETE FROM tombstones WHERE number = ?", rows)
        self._buried -= fingerprint(numbers)


def create_catalog(folder: Path, facts: Mapping[str, dict[str, Any]]) -> None:
    """A new file with an empty state and these facts."""
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
            edit.put_state(State(identity=new_identity()))
            connection.execute("COMMIT")
        finally:
            connection.close()


def _join_columns(number: int, id: str, title: str, text: str, metadata: str) -> bytes:
    """What a row's checksum is of."""
    return "\0".join((str(number), id, title, text, metadata)).encode("utf-8", "surrogatepass")


def read_fact(row: Sequence[Any], path: Path) -> dict[str, Any]:
    """A row of `facts`, if its checksum is right."""
    name, value, checksum = row
    if not isinstance(value, str) or not is_row_checksum(f"{name}\0{value}".encode(), checksum):
        raise _changed(path, f"its {str(name)[:60]}")
    try:
        return Facts(parse_json(value), f"{path}: its {name}").content
    except DamagedIndex:
        raise
    except ValueError as error:
        raise damaged(path, f"has facts that are no JSON ({error})") from error


def read_document(row: Sequence[Any], path: Path) -> Document:
    """A row of `documents`, if its checksum is right."""
    number, id, title, text, metadata, checksum = row
    texts = (id, title, text, metadata)
    if not all(isinstance(value, str) for value in texts) or not is_row_checksum(
        _join_columns(number, *texts), checksum
    ):
        raise _changed(path, f"document {str(id)[:60]!r}")
    try:
        return Document(id=id, text=text, title=title, metadata=parse_json(metadata))
    except (ValueError, DocumentError) as error:
        raise damaged(path, f"has a document that no asterism can have stored ({error})") from error


def _changed(path: Path, what: str) -> DamagedIndex:
    return damaged(f"{path}: {what}", "was changed since it was written")
