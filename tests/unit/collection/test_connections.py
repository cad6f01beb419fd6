"""Opening and closing a collection: descriptors, locks and errors."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from asterism import TokenSearch, Views
from asterism.collection.collection import Collection
from asterism.collection.connections import CATALOG
from asterism.errors import DamagedIndex, IndexFolderError
from asterism.settings import TokenBuild
from tests.conftest import make_query
from tests.unit.collection.groups import GROUP, D, found, ids_of, put


def test_a_missing_catalog_is_damage(collection: Collection) -> None:
    collection.close()
    (collection.path / "catalog.sqlite").unlink()
    with pytest.raises(DamagedIndex, match="is missing"):
        Collection.open(collection.path)


def test_collections_leave_no_descriptor_behind(tmp_path: Path) -> None:
    gc.collect()
    before = set(os.listdir("/proc/self/fd"))
    made = Collection.create(tmp_path / "x", Views(TokenBuild(threads=1)), {})
    put(made, 0)
    others = [Collection.open(tmp_path / "x") for _ in range(3)]
    assert all(found(other) == ids_of(0) for other in others)
    for one in (made, *others):
        one.close()
        one.close()
    del one, others, made
    gc.collect()
    assert set(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    "use",
    [
        lambda of: of.search(make_query(D, 3), 1, TokenSearch()),
        lambda of: of.get(["0-0"]),
        lambda of: of.known(["0-0"]),
        lambda of: list(of.documents()),
        lambda of: of.snapshot(),
        lambda of: of.check(),
        lambda of: of.bytes(),
        lambda of: of.facts("settings"),
        lambda of: of.look_at("0-0", lambda state, at, eligible: at),
        lambda of: put(of, 1),
        lambda of: of.put_fact("job", {}),
    ],
    ids=["search", "get", "known", "documents", "snapshot", "check", "bytes", "facts", "looking_at", "add", "put_fact"],
)
def test_a_closed_collection_says_so(collection: Collection, use: Callable[[Collection], object]) -> None:
    collection.close()
    with pytest.raises(IndexFolderError, match="was closed: open it again"):
        use(collection)
    assert found(Collection.open(collection.path)) == ids_of(0)


def can_commit(path: Path) -> bool:
    """Whether another process gets SQLite's exclusive lock, for which no reader may hold one."""
    code = (
        "import sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)\n"
        "try:\n"
        "    connection.execute('BEGIN EXCLUSIVE')\n"
        "    print('yes')\n"
        "except sqlite3.OperationalError as error:\n"
        "    print(error)\n"
    )
    answer = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True).stdout
    assert answer in ("yes\n", "database is locked\n")
    return answer == "yes\n"


def test_closing_one_collection_leaves_the_locks_of_another(collection: Collection) -> None:
    """A process loses its locks on a file when it closes any of its descriptors; a reader must keep its lock."""
    other = Collection.open(collection.path)
    with other.reading() as catalog:
        catalog.state()
        Collection.open(collection.path).close()
        assert not can_commit(collection.path / CATALOG)
        assert catalog.state().documents == GROUP
    assert can_commit(collection.path / CATALOG)
    put(collection, 1)
    assert found(other) == ids_of(0, 1)


@pytest.mark.parametrize("kind", ["reading", "writing"])
def test_ending_a_transaction_after_its_connection_raises_nothing(collection: Collection, kind: str) -> None:
    """After Ctrl-C the garbage collector may end a transaction whose connection is closed."""
    transaction = getattr(collection._catalog, kind)()
    transaction.__enter__()
    collection.close()
    assert not transaction.__exit__(GeneratorExit, GeneratorExit(), None)
