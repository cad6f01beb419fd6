"""A pool of connections to a catalog, shared by threads; the files are checked before SQLite opens them.

Readers open the file read-only. The unfinished commit of a killed writer (SQLite's journal) must be undone before a
read; a reader may do that, under the writer lock.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path

from ..errors import DamagedIndex, IndexBusy, IndexFolderError
from ..files.regular_files import stream_regular
from ..storage.faults import damaged, unreadable
from ..storage.lock import hold_writer_lock

CATALOG = "catalog.sqlite"
WAIT_SECONDS = 30.0
KEPT = 4  # idle connections in the pool
RECOVERY_PATIENCE = 5.0
JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")

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


class _Connection(sqlite3.Connection):
    """Remembers whether the schema was checked, and which file (device, inode) it is connected to."""

    checked = False
    file = (0, 0)


class Connections:
    """Connections to one file; each transaction borrows one, in any thread."""

    def __init__(self, path: Path) -> None:
        """Open nothing yet."""
        self._path = path
        self._spare: list[_Connection] = []
        self._file = (0, 0)  # device and inode of the current file: a repair replaces it
        self._guard = threading.Lock()
        self._closed = False

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection within a transaction that sees one committed state."""
        with translate_errors(self._path):
            connection = self._borrow_reader()
            try:
                self._begin(connection)
                yield connection
            finally:
                self._give_back(connection)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A connection without a transaction; the caller must hold the writer lock."""
        with translate_errors(self._path), closing(connect(self._path, "rw")) as connection:
            yield connection

    def close(self) -> None:
        """Close the idle connections; borrowed ones are closed when they are returned."""
        with self._guard:
            self._closed = True
            spare, self._spare = self._spare, []
        for connection in spare:
            connection.close()

    def _borrow_reader(self) -> _Connection:
        stale: list[_Connection] = []
        with suppress(OSError), self._guard:
            status = os.stat(self._path)
            if self._file != (status.st_dev, status.st_ino):
                self._file = (status.st_dev, status.st_ino)
                stale, self._spare = self._spare, []
            if self._spare:
                return self._spare.pop()
        for connection in stale:
            connection.close()
        connection = connect(self._path, "ro")
        connection.file = self._file
        return connection

    def _begin(self, connection: _Connection) -> None:
        try:
            _start_reading(connection)
        except sqlite3.OperationalError as error:
            if "readonly" not in str(error):
                raise
            self.undo_killed_commit()
            _start_reading(connection)
        if not connection.checked:
            check_schema(connection, self._path)
            connection.checked = True

    def undo_killed_commit(self) -> None:
        """Undo the unfinished commit of a killed writer; takes the writer lock, so the caller must not hold it."""
        try:
            with hold_writer_lock(self._path.parent, RECOVERY_PATIENCE), self.writing():
                pass  # connecting reads the tables, and SQLite undoes the commit before that
        except (sqlite3.OperationalError, IndexFolderError) as error:
            if isinstance(error, DamagedIndex):
                raise
            why = f"a writer was killed in the middle of a commit, which cannot be undone ({error})"
            raise IndexFolderError(f"{self._path}: {why}: make the folder writable, then try again") from error

    def _give_back(self, connection: _Connection) -> None:
        with suppress(sqlite3.Error):
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        with self._guard:
            usable = not self._closed and not connection.in_transaction and connection.file == self._file
            if usable and len(self._spare) < KEPT:
                self._spare.append(connection)
                return
        connection.close()


def _start_reading(connection: sqlite3.Connection) -> None:
    """Begin a transaction and read a row: BEGIN alone takes no lock, so others could still commit."""
    if not connection.in_transaction:
        connection.execute("BEGIN")
    connection.execute("SELECT 1 FROM facts").fetchone()


def connect(path: Path, mode: str) -> _Connection:
    """`mode`: "ro", "rw", or "rwc" for a file that does not exist. Checks the files beside it first."""
    if mode != "rwc":
        _check_files(path, writes=mode == "rw")
    quoted = str(path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection = sqlite3.connect(
        f"file://{quoted}?mode={mode}",
        uri=True,
        timeout=WAIT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        factory=_Connection,
    )
    try:
        for pragma in ("cell_size_check = ON", "trusted_schema = OFF", "temp_store = MEMORY"):
            connection.execute(f"PRAGMA {pragma}")
        if mode != "ro":
            connection.execute("PRAGMA synchronous = EXTRA")  # reads the file, so that SQLite undoes a killed commit
            connection.execute("PRAGMA secure_delete = ON")  # overwrites deleted rows, so that no repair finds them
        if mode == "rw":
            check_schema(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse other tables, triggers and views: SQL from an untrusted file must not run."""
    if connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall() != _build_schema():
        raise damaged(path, "has other tables than asterism creates")


@cache
def _build_schema() -> list[tuple[object, ...]]:
    with sqlite3.connect(":memory:") as connection:
        connection.executescript(SCHEMA)
        found = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    connection.close()
    return found


def _check_files(path: Path, writes: bool) -> None:
    """Refuse unsafe files: SQLite follows links, waits for fifos, and deletes the file that a journal names.

    Never opens the catalog itself: closing any descriptor of it would release SQLite's locks on it.
    """
    for suffix in ("", "-journal", "-wal", "-shm"):
        file = path.with_name(path.name + suffix)
        try:
            kind = os.lstat(file).st_mode
        except FileNotFoundError:
            if suffix == "":
                raise damaged(path, "is missing") from None
            continue
        except OSError as error:
            raise unreadable(file, error) from error
        if suffix in ("-wal", "-shm"):
            raise damaged(file, "exists, but asterism never writes such a file")
        if not stat.S_ISREG(kind):
            raise damaged(file, "is not a regular file")
        if suffix == "-journal" and writes:
            _check_journal(file)


def _check_journal(journal: Path) -> None:
    """Refuse a journal of several databases: it ends with a file name, and SQLite would read and delete that file."""
    try:
        with suppress(FileNotFoundError), stream_regular(journal) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - len(JOURNAL_MAGIC)))
            if file.read() == JOURNAL_MAGIC:
                raise damaged(journal, "names another file, which asterism's journals never do")
    except OSError as error:
        raise unreadable(journal, error) from error


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Translate SQLite's errors into asterism's."""
    try:
        yield
    except sqlite3.OperationalError as error:
        message = str(error)
        if "locked" in message or "busy" in message:
            raise IndexBusy(f"{path} is being written by another process or thread: wait for it to end") from error
        if "full" in message or "disk I/O" in message:
            raise IndexFolderError(f"{path} cannot be written ({message}): make room, then try again") from error
        if "readonly" in message or "unable to open" in message:
            advice = "check its permissions, and how many files this process may open"
            raise IndexFolderError(f"{path} cannot be opened for this ({message}): {advice}") from error
        raise damaged(path, f"cannot be used ({message})") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise damaged(path, f"is damaged ({error})") from error


def find_end(prefix: str) -> str:
    """The first text after all that begin with the prefix; SQLite orders texts by their bytes."""
    return f"{prefix[:-1]}{chr(ord(prefix[-1]) + 1)}"
