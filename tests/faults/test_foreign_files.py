"""Foreign things in an index's folder, files truncated while they are open, readers that must not write."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from asterism import Collection, TokenIndex, TokenSearch
from asterism.collection.connections import CATALOG
from asterism.errors import AsterismError, DamagedIndex, IndexFolderError
from asterism.storage.lock import LOCK, QUEUE
from tests.conftest import found_in, make_query, make_vectors
from tests.faults.driver import views_of
from tests.faults.small_index import add, checked, compact, do_everything, make_index, repaired, searches, stored_texts

SECONDS = 20


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("foreign") / "x.ast"
    make_index(path, coded=True)
    return path


@pytest.fixture
def index(original: Path, tmp_path: Path) -> Path:
    shutil.copytree(original, tmp_path / "x.ast")
    return tmp_path / "x.ast"


def picture(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file with its time, its kind and its content."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        status = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        found[str(path)] = (status.st_mtime_ns, status.st_mode, content)
    return found


def test_reading_changes_nothing(index: Path) -> None:
    """Not leftovers of a killed writer, not a lock file, not a modification time."""
    leftover = index / "segment-000099"
    leftover.mkdir()
    (leftover / "codes.npy").write_bytes(b"half")
    (index / "manifest.json.new").write_bytes(b"half")
    before = picture(index)
    searches(index)
    checked(index)
    stored_texts(index)
    assert picture(index) == before
    add(index)
    assert not leftover.exists()


def test_reading_needs_no_lock(index: Path) -> None:
    """Readers work without the lock files, which a read-only copy may lack."""
    for name in (LOCK, QUEUE):
        (index / name).unlink(missing_ok=True)
    before = picture(index)
    searches(index)
    checked(index)
    assert picture(index) == before


@pytest.mark.parametrize("name", [LOCK, QUEUE, "manifest.json.new"])
@pytest.mark.parametrize("operation", [searches, add, compact, repaired], ids=lambda of: of.__name__)
def test_links_are_not_written_through(
    index: Path, tmp_path: Path, name: str, operation: Callable[[Path], None]
) -> None:
    """`ln -s ~/.bashrc x.ast/writer.lock` and a search once emptied the file."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (index / name).unlink(missing_ok=True)
    (index / name).symlink_to(precious)
    with suppress(IndexFolderError):
        operation(index)
    assert precious.read_text() == "mine"


@pytest.mark.parametrize("pattern", ["segment-*", "codec-*", "segment-*/multi", CATALOG, "segment-*/segment.json"])
def test_links_are_not_followed(index: Path, tmp_path: Path, pattern: str) -> None:
    place = min(index.glob(pattern))
    moved = tmp_path / "moved"
    place.rename(moved)
    place.symlink_to(moved)
    for operation in (checked, add, compact):
        with pytest.raises(DamagedIndex):
            operation(index)
    if pattern != CATALOG:  # the texts are nowhere else
        repaired(index)
        checked(index)
    assert moved.exists()


def test_a_folder_of_links_is_left_alone(index: Path, tmp_path: Path) -> None:
    """Only folders are removed, never the target of a link."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    (index / "segment-000099").symlink_to(precious)
    add(index)
    compact(index)
    assert (precious / "file").exists()
    assert (index / "segment-000099").is_symlink()


def put_fifo(path: Path) -> None:
    os.mkfifo(path)


def put_socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the path of a socket is limited to 107 characters
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def put_link_to_zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


SPECIAL = {"fifo": put_fifo, "folder": Path.mkdir, "socket": put_socket, "/dev/zero": put_link_to_zeros}


@pytest.mark.parametrize("kind", SPECIAL)
def test_special_files_are_refused_at_once(original: Path, tmp_path: Path, kind: str) -> None:
    """In place of every file of an index, and of those that SQLite looks for beside it."""
    names = [file.relative_to(original) for file in sorted(original.rglob("*")) if file.is_file()]
    signal.alarm(len(names) * SECONDS)
    for name in [*names, Path(f"{CATALOG}-journal"), Path(f"{CATALOG}-wal")]:
        copy = tmp_path / "copy"
        shutil.copytree(original, copy)
        (copy / name).unlink(missing_ok=True)
        SPECIAL[kind](copy / name)
        for operation in (checked, add):
            unread = operation is checked and name.name in (LOCK, QUEUE)
            with suppress(AsterismError) if unread else pytest.raises(AsterismError, match=r"^[^\n]*$"):
                operation(copy)
        shutil.rmtree(copy)
    signal.alarm(0)


def test_a_file_that_is_truncated_while_it_is_open(index: Path) -> None:
    """Reading a missing page raises SIGBUS; it must become an error."""
    opened = Collection.open(index)
    query = views_of(["text 1 9 "])
    assert found_in(opened, query, "multi", 3).documents
    for file in index.glob("segment-*/*/*.npy"):
        os.truncate(file, 0)
    for view in ("multi", "dense", "lexical"):
        with pytest.raises(DamagedIndex, match="was cut short while it was open"):
            found_in(opened, query, view, 3)
    with pytest.raises(DamagedIndex):
        opened.check()
    opened.close()


def test_a_token_index_that_is_truncated_while_it_is_open(tmp_path: Path) -> None:
    index = TokenIndex.build(tmp_path / "x", make_vectors(3000, 16, longest=30))
    os.truncate(tmp_path / "x" / "segment-000001" / "codes.npy", 0)
    with pytest.raises(DamagedIndex, match="cut short"):
        index.search(make_query(16), 3, TokenSearch(method="exact"))


def test_a_bus_error_outside_our_files_still_ends_the_process(tmp_path: Path) -> None:
    code = (
        "import os, mmap, sys, asterism\n"
        "from asterism import TokenIndex\n"
        "from tests.conftest import make_vectors\n"
        "TokenIndex.build(sys.argv[1], make_vectors(5, 8, shortest=1))\n"
        "file = open(sys.argv[1] + '.raw', 'w+b'); file.truncate(1 << 16)\n"
        "mapped = mmap.mmap(file.fileno(), 1 << 16); os.truncate(file.name, 0); mapped[5]\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "x")], cwd=root, capture_output=True)
    assert done.returncode == -signal.SIGBUS


def test_opening_after_a_killed_writer_and_a_full_disk(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader needs no disk space: the next writer removes what a killed one left."""
    (index / "segment-000099").mkdir()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        for name in ("replace", "rename", "mkdir", "unlink", "fsync", "ftruncate"):
            patch.setattr(os, name, full)
        assert searches(index)
        checked(index)


def test_a_reader_rolls_back_a_hot_journal(index: Path) -> None:
    """The only write that a reader makes: half a transaction cannot be read."""
    before = stored_texts(index)
    code = (
        "import os, sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "connection.execute('PRAGMA cache_size = 1')\n"
        "connection.execute('BEGIN IMMEDIATE')\n"
        "connection.execute(\"UPDATE documents SET text = text || 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'\")\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(index / CATALOG)], check=True)
    assert (index / f"{CATALOG}-journal").stat().st_size > 0
    assert stored_texts(index) == before
    checked(index)


def test_everything_at_once(index: Path) -> None:
    """A damaged index, a link and a fifo: each operation raises an error of one line."""
    os.mkfifo(index / "segment-000050")
    (index / "codec-000050").symlink_to("/")
    connection = sqlite3.connect(index / CATALOG)
    connection.execute("UPDATE documents SET text = 'x' WHERE number = 3")
    connection.commit()
    connection.close()
    errors = do_everything(index)
    assert "check" in errors
    assert "check at last" not in errors
    assert all(len(error.splitlines()) == 1 for error in errors.values())
