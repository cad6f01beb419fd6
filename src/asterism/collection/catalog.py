"""The catalog of a collection: documents, filterable fields, tombstones and the list of segments, in SQLite.

Its transaction is the collection's commit point. Rollback journal, not WAL: one file, readable from a read-only folder.
A document's row is never changed: an update gives the document a new number, so that a reader's results stay valid.
Rows of documents and facts have checksums, because SQLite has none; fields and tombstones can be checked against them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..documents.document import Document
from ..errors import DamagedIndex, DocumentError, IndexFolderError
from ..files.json_text import parse_json
from ..storage.byte_correction import is_row_checksum, row_checksum
from ..storage.facts import Facts
from ..storage.faults import damaged
from .connections import CATALOG, SCHEMA, Connections, connect, find_end, translate_errors
from .filters import Compare, Kind, OneOf, Value, list_fields
from .state import Numbers, State, fingerprint, new_identity

AT_ONCE = 500  # parameters of one statement
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


class CatalogReader:
    """Reads within one transaction."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        """Use the connection of an open transaction."""
        self._connection = connection
        self.path = path

    def state(self) -> State:
        """The committed state."""
        return State.from_facts(self.facts("state"))

    def state_text(self) -> str:
        """The stored text of the committed state, unchecked: for a fast comparison with a known state."""
        row = self._connection.execute("SELECT value FROM facts WHERE name = 'state'").fetchone()
        return str(row[0]) if row else ""

    def facts(self, name: str) -> Facts:
        """A stored JSON object with checked access."""
        return Facts(self.fact(name), f"{self.path}: its {name}")

    def fact(self, name: str) -> dict[str, Any]:
        """A stored JSON object; {} if there is none."""
        row = self._connection.execute("SELECT name, value, crc32 FROM facts WHERE name = ?", (name,)).fetchone()
        return {} if row is None else read_fact(row, self.path)

    def iterate_facts(self, prefix: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """All stored objects whose names begin with a prefix, by name; in the order of the names."""
        found = "SELECT name, value, crc32 FROM facts WHERE name >= ? AND name < ? ORDER BY name"
        for row in self._connection.execute(found, (prefix, find_end(prefix))):
            yield str(row[0]), read_fact(row, self.path)

    def iterate_fact_names(self, prefix: str) -> Iterator[str]:
        """The names of stored objects that begin with a prefix, in their order; reads no objects."""
        found = "SELECT name FROM facts WHERE name >= ? AND name < ? ORDER BY name"
        return (str(row[0]) for row in self._connection.execute(found, (prefix, find_end(prefix))))

    def iterate_ids(self, prefix: str) -> Iterator[str]:
        """The ids that begin with a prefix, in their order; reads no texts."""
        found = "SELECT id FROM documents WHERE id >= ? AND id < ? ORDER BY id"
        return (str(row[0]) for row in self._connection.execute(found, (prefix, find_end(prefix))))

    def tombstones(self) -> Numbers:
        """Numbers of deleted documents that segments still hold, ascending."""
        return self._read_numbers("SELECT number FROM tombstones ORDER BY number")

    def find_numbers(self, ids: Sequence[str]) -> dict[str, int]:
        """The numbers of those ids that exist."""
        found: dict[str, int] = {}
        for start in range(0, len(ids), AT_ONCE):
            part = ids[start : start + AT_ONCE]
            marks = ",".join("?" * len(part))
            found.update(self._connection.execute(f"SELECT id, number FROM documents WHERE id IN ({marks})", part))
        return found

    def read_all_ids(self) -> dict[int, str]:
        """The id of each document, by its number."""
        return {int(number): str(id) for number, id in self._connection.execute("SELECT number, id FROM documents")}

    def find_newest_number(self) -> int:
        """The largest number of a document; -1 without documents."""
        (number,) = self._connection.execute("SELECT max(number) FROM documents").fetchone()
        return -1 if number is None else int(number)

    def hash_ids(self, numbers: Numbers) -> Numbers:
        """(n,) a hash of the id of each document; it is another one in every process."""
        rows = "SELECT number, id FROM documents"  # read from the index of ids, without texts
        if len(numbers) > AT_ONCE:
            known, hashes = self._hash_rows(rows)
        else:
            marks = ",".join("?" * len(numbers))
            known, hashes = self._hash_rows(f"{rows} WHERE number IN ({marks})", *numbers.tolist())
        found = np.zeros(len(numbers), np.int64)  # a damaged index may have numbers without documents
        is_there = np.isin(numbers, known)
        found[is_there] = hashes[np.searchsorted(known, numbers[is_there])]
        return found

    def find_hashes(self, wanted: AbstractSet[int], after: int) -> tuple[Numbers, Numbers]:
        """The documents after a number whose hashes are wanted: their numbers, ascending, and hashes."""
        if not wanted:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        numbers, hashes = self._hash_rows("SELECT number, id FROM documents WHERE number > ?", after)
        chosen = np.isin(hashes, list(wanted))
        return numbers[chosen], hashes[chosen]

    def _hash_rows(self, statement: str, *parameters: object) -> tuple[Numbers, Numbers]:
        """Numbers, ascending, and hashes of ids."""
        rows = self._connection.execute(statement, parameters)
        pairs = np.fromiter((value for number, id in rows for value in (number, hash(id))), np.int64).reshape(-1, 2)
        pairs = pairs[np.argsort(pairs[:, 0])]
        return pairs[:, 0], pairs[:, 1]

    def documents(self, numbers: Sequence[int]) -> dict[int, Document]:
        """The documents of those numbers that exist."""
        found = {}
        for start in range(0, len(numbers), AT_ONCE):
            part = [int(number) for number in numbers[start : start + AT_ONCE]]
            marks = ",".join("?" * len(part))
            for row in self._connection.execute(f"SELECT * FROM documents WHERE number IN ({marks})", part):
                found[row[0]] = read_document(row, self.path)
        return found

    def iterate_documents(self) -> Iterator[tuple[int, Document]]:
        """All documents with their numbers, in the order in which they were added."""
        for row in self._connection.execute("SELECT * FROM documents ORDER BY number"):
            yield row[0], read_document(row, self.path)

    def read_all_numbers(self) -> Numbers:
        """The numbers of all documents, ascending."""
        return np.sort(self._read_numbers("SELECT number FROM documents"))

    def match(self, condition: Compare | OneOf) -> Iterator[Numbers]:
        """Numbers of the documents that match a comparison, in parts, in no order, possibly repeated."""
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
        elif condition.sign in ("prefix", "contains"):  # instr, unlike substr and length, does not stop at a NUL
            found = (
                "value >= ? AND instr(value, ?) = 1" if condition.sign == "prefix" else "'' <= ? AND instr(value, ?)"
            )
            compared, value = f"{start} AND kind = ? AND {found}", condition.value
            yield self._read_numbers(compared, condition.field, condition.kind, value, value)
        else:
            compared = f"{start} AND kind = ? AND value {condition.sign} ?"
            yield self._read_numbers(compared, condition.field, condition.kind, condition.value)

    def copy_to(self, folder: Path) -> None:
        """Write a copy of the whole catalog, as this transaction sees it, into another folder."""
        target = folder / CATALOG
        with translate_errors(target), closing(connect(target, "rwc")) as copy:
            self._connection.backup(copy)

    def check(self) -> None:
        """Check everything with SQLite and with the checksums; raises DamagedIndex."""
        report = [row[0] for row in self._connection.execute("PRAGMA integrity_check(1)")]
        if report != ["ok"]:
            raise damaged(self.path, f"is damaged ({str(report[0]).splitlines()[-1]})")
        names = set()
        for row in self._connection.execute("SELECT name, value, crc32 FROM facts"):
            read_fact(row, self.path)
            names.add(row[0])
        if "model" not in names or not names & {"views", "settings"}:  # the first format had settings instead of views
            raise damaged(self.path, "has lost the row of its views or of its model")
        balance = 0  # expected fields minus stored fields, as a sum of hashes, which does not depend on their order
        for number, document in self.iterate_documents():
            balance += sum(hash(repr((*entry, number))) for entry in list_fields(document.metadata))
        for row in self._connection.execute("SELECT name, kind, value, number FROM fields"):
            balance -= hash(repr(row))  # of the repr, because hash(-1) == hash(-2) and hash("a") == hash(b"a")
        if balance:
            raise damaged(self.path, "has fields that are not those of its documents")

    def _read_numbers(self, statement: str, *parameters: object) -> Numbers:
        rows = self._connection.execute(statement, parameters)
        try:
            return np.fromiter((row[0] for row in rows), np.int64)
        except (TypeError, ValueError, OverflowError) as error:
            raise _changed(self.path, "a document's number") from error


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
                "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?)", (*content, row_checksum(_join_columns(*content)))
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


def _join_columns(number: int, id: str, title: str, text: str, metadata: str) -> bytes:
    """The bytes that a row's checksum covers."""
    return "\0".join((str(number), id, title, text, metadata)).encode("utf-8", "surrogatepass")


def read_fact(row: Sequence[Any], path: Path) -> dict[str, Any]:
    """A row of `facts` -> its object; raises DamagedIndex if the checksum does not match."""
    name, value, checksum = row
    if not isinstance(value, str) or not is_row_checksum(f"{name}\0{value}".encode(), checksum):
        raise _changed(path, f"its {str(name)[:60]}")
    try:
        return Facts(parse_json(value), f"{path}: its {name}").content
    except DamagedIndex:
        raise
    except ValueError as error:
        raise damaged(path, f"has facts that are not JSON ({error})") from error


def read_document(row: Sequence[Any], path: Path) -> Document:
    """A row of `documents` -> the document; raises DamagedIndex if the checksum does not match."""
    number, id, title, text, metadata, checksum = row
    texts = (id, title, text, metadata)
    if not all(isinstance(value, str) for value in texts) or not is_row_checksum(
        _join_columns(number, *texts), checksum
    ):
        raise _changed(path, f"document {str(id)[:60]!r}")
    try:
        return Document(id=id, text=text, title=title, metadata=parse_json(metadata))
    except (ValueError, DocumentError) as error:
        raise damaged(path, f"has a document that asterism cannot have stored ({error})") from error


def _changed(path: Path, what: str) -> DamagedIndex:
    return damaged(f"{path}: {what}", "was changed since it was written")
