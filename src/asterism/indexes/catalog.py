"""The catalog of a collection: documents, filterable fields, tombstones and the list of segments, in SQLite.

Its transaction is the collection's commit point. Rollback journal, not WAL: one file, readable from a read-only folder.
A document's row is never changed: an update gives it a new number, so that what a reader found stays what it was.
Every row that is read carries a checksum, because SQLite has none.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..corpus import Document
from ..errors import DamagedIndex, IndexBusy, IndexFolderError
from .filters import Compare, Kind, OneOf, Value, fields_of
from .storage import REMEDY

CATALOG = "catalog.sqlite"
WAIT_SECONDS = 30.0
AT_ONCE = 500  # parameters of one statement

SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL, crc32 INTEGER NOT NULL);
CREATE TABLE documents (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL, text TEXT NOT NULL, metadata TEXT NOT NULL,
  crc32 INTEGER NOT NULL
);
CREATE TABLE fields (
  name TEXT NOT NULL, kind TEXT NOT NULL, value NOT NULL, number INTEGER NOT NULL,
  PRIMARY KEY (name, kind, value, number)
) WITHOUT ROWID;
CREATE TABLE tombstones (number INTEGER PRIMARY KEY);
"""

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Part:
    """A codec's or segment's folder and the checksum of its facts file."""

    name: str
    crc32: int


@dataclass(frozen=True)
class State:
    """What is committed. `generation` grows with every commit; names and numbers are never used again."""

    generation: int = 0
    documents: int = 0
    next_number: int = 0
    next_folder: int = 1
    codec: Part | None = None
    segments: tuple[Part, ...] = field(default=())

    @classmethod
    def of(cls, found: dict[str, Any]) -> State:
        """From JSON."""
        codec = Part(**found.pop("codec")) if found["codec"] else found.pop("codec")
        segments = tuple(Part(**part) for part in found.pop("segments"))
        return cls(codec=codec, segments=segments, **found)

    @property
    def folders(self) -> set[str]:
        """Names of all that belong to it."""
        return {part.name for part in (*self.segments, self.codec) if part is not None}


class Catalog:
    """One connection a thread; `reading` and `writing` give a transaction."""

    def __init__(self, folder: Path) -> None:
        """The file must exist; see `create_catalog`."""
        self.path = folder / CATALOG
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []

    def close(self) -> None:
        """Close the connections of all threads."""
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        self._local = threading.local()

    @contextmanager
    def reading(self) -> Iterator[CatalogView]:
        """One committed state, whatever others write meanwhile."""
        with translated(self.path):
            connection = self._connection()
            connection.execute("BEGIN")
            try:
                connection.execute("SELECT 1 FROM facts").fetchone()  # BEGIN alone takes no lock: others could commit
                yield CatalogView(connection, self.path)
            finally:
                self._undo(connection)

    @contextmanager
    def writing(self) -> Iterator[CatalogEdit]:
        """Committed when the block ends well, undone when it does not."""
        with translated(self.path):
            connection = self._connection()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield CatalogEdit(connection, self.path)
                connection.execute("COMMIT")
            finally:
                self._undo(connection)

    def shrink(self) -> None:
        """Give the pages of removed rows back to the disk."""
        with translated(self.path):
            self._connection().execute("VACUUM")

    def _undo(self, connection: sqlite3.Connection) -> None:
        """End what is open; a block that Ctrl-C left behind may come to its end after the connection."""
        if connection in self._connections and connection.in_transaction:
            connection.execute("ROLLBACK")

    def _connection(self) -> sqlite3.Connection:
        known: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if known is None:
            known = self._local.connection = _connected(self.path, "rw")
            self._connections.append(known)
        return known


class CatalogView:
    """What can be read within a transaction."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        """Of one transaction."""
        self._connection = connection
        self._path = path

    def state(self) -> State:
        """The committed state."""
        return State.of(self.fact("state"))

    def fact(self, name: str) -> dict[str, Any]:
        """A stored JSON object; {} if there is none."""
        row = self._connection.execute("SELECT value, crc32 FROM facts WHERE name = ?", (name,)).fetchone()
        if row is None:
            return {}
        if zlib.crc32(f"{name}\0{row[0]}".encode()) != row[1]:
            raise self._changed(f"its {name}")
        found: dict[str, Any] = json.loads(row[0])
        return found

    def tombstones(self) -> Numbers:
        """Numbers of documents that segments still hold and that are gone, rising."""
        return self._numbers("SELECT number FROM tombstones ORDER BY number")

    def numbers_of(self, ids: Sequence[str]) -> dict[str, int]:
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
                found[row[0]] = self._document(row)
        return found

    def every_document(self) -> Iterator[tuple[int, Document]]:
        """In the order in which they were added."""
        for row in self._connection.execute("SELECT * FROM documents ORDER BY number"):
            yield row[0], self._document(row)

    def all_numbers(self) -> Numbers:
        """Of all documents, rising."""
        return np.sort(self._numbers("SELECT number FROM documents"))

    def matching(self, condition: Compare | OneOf) -> Iterator[Numbers]:
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
                    yield self._numbers(f"{start} AND kind = ? AND value IN ({marks})", condition.field, kind, *part)
        elif condition.sign == "any":
            yield self._numbers(start, condition.field)
        else:
            compared = f"{start} AND kind = ? AND value {condition.sign} ?"
            yield self._numbers(compared, condition.field, condition.kind, condition.value)

    def check(self) -> None:
        """Everything that SQLite and our checksums can tell; raises DamagedIndex."""
        report = [row[0] for row in self._connection.execute("PRAGMA integrity_check(1)")]
        if report != ["ok"]:
            raise DamagedIndex(f"{self._path} is damaged ({report[0].splitlines()[-1]}): {REMEDY}")
        statement = "SELECT 1 FROM fields WHERE name = ? AND kind = ? AND value = ? AND number = ?"
        expected = 0
        for number, document in self.every_document():
            for entry in fields_of(document.metadata):
                expected += 1
                if self._connection.execute(statement, (*entry, number)).fetchone() is None:
                    raise self._changed("the filterable fields")
        if self._connection.execute("SELECT COUNT(*) FROM fields").fetchone()[0] != expected:
            raise self._changed("the filterable fields")

    def _numbers(self, statement: str, *parameters: object) -> Numbers:
        rows = self._connection.execute(statement, parameters)
        return np.fromiter((row[0] for row in rows), np.int64)

    def _document(self, row: tuple[Any, ...]) -> Document:
        number, id, title, text, metadata, checksum = row
        if _checksum(number, id, title, text, metadata) != checksum:
            raise self._changed(f"document {id!r}")
        return Document(id=id, text=text, title=title, metadata=json.loads(metadata))

    def _changed(self, what: str) -> DamagedIndex:
        return DamagedIndex(f"{self._path}: {what} was changed since it was written: {REMEDY}")


class CatalogEdit(CatalogView):
    """What can be written within a transaction."""

    def put_fact(self, name: str, value: dict[str, Any]) -> None:
        """Store a JSON object."""
        text = json.dumps(value, sort_keys=True)
        checksum = zlib.crc32(f"{name}\0{text}".encode())
        self._connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", (name, text, checksum))

    def put_state(self, state: State) -> None:
        """The new state."""
        self.put_fact("state", asdict(state))

    def insert(self, first_number: int, documents: Sequence[Document]) -> None:
        """Documents numbered from `first_number` on."""
        for number, document in enumerate(documents, first_number):
            metadata = json.dumps(document.metadata, ensure_ascii=False, separators=(",", ":"))
            content = (number, document.id, document.title, document.text, metadata)
            self._connection.execute("INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?)", (*content, _checksum(*content)))
            entries = [(*entry, number) for entry in fields_of(document.metadata)]
            self._connection.executemany("INSERT INTO fields VALUES (?, ?, ?, ?)", entries)

    def bury(self, numbers: Sequence[int]) -> None:
        """Remove documents and leave tombstones."""
        for number, document in self.documents(numbers).items():
            entries = [(*entry, number) for entry in fields_of(document.metadata)]
            condition = "name = ? AND kind = ? AND value = ? AND number = ?"
            self._connection.executemany(f"DELETE FROM fields WHERE {condition}", entries)
            self._connection.execute("DELETE FROM documents WHERE number = ?", (number,))
            self._connection.execute("INSERT INTO tombstones VALUES (?)", (number,))

    def clear_tombstones(self, numbers: Iterable[int]) -> None:
        """Of documents that no segment holds any more."""
        rows = ((int(number),) for number in numbers)
        self._connection.executemany("DELETE FROM tombstones WHERE number = ?", rows)


def create_catalog(folder: Path, facts: dict[str, dict[str, Any]]) -> None:
    """A new file with an empty state and these facts."""
    path = folder / CATALOG
    with translated(path):
        connection = _connected(path, "rwc")
        try:
            connection.execute("BEGIN IMMEDIATE")
            for statement in SCHEMA.split(";\n"):
                connection.execute(statement)
            edit = CatalogEdit(connection, path)
            for name, value in facts.items():
                edit.put_fact(name, value)
            edit.put_state(State())
            connection.execute("COMMIT")
        finally:
            connection.close()


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    quoted = str(path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection = sqlite3.connect(
        f"file:{quoted}?mode={mode}", uri=True, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False
    )
    for pragma in ("synchronous = EXTRA", "cell_size_check = ON", "trusted_schema = OFF", "temp_store = MEMORY"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _checksum(number: int, id: str, title: str, text: str, metadata: str) -> int:
    return zlib.crc32("\0".join((str(number), id, title, text, metadata)).encode("utf-8", "surrogatepass"))


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """SQLite's errors as ours."""
    try:
        yield
    except sqlite3.OperationalError as error:
        message = str(error)
        if "locked" in message or "busy" in message:
            raise IndexBusy(f"{path} is being written by another process or thread: wait for it to end") from error
        if "full" in message or "disk I/O" in message:
            raise IndexFolderError(f"{path} cannot be written ({message}): make room, then try again") from error
        if "readonly" in message or "unable to open" in message:
            raise IndexFolderError(f"{path} cannot be opened for this ({message}): check its permissions") from error
        raise DamagedIndex(f"{path} cannot be used ({message}): {REMEDY}") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DamagedIndex(f"{path} is damaged ({error}): {REMEDY}") from error
