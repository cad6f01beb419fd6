"""Readers in other processes while a writer adds, deletes and compacts; a folder that cannot be written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from asterism import Collection, Document, TokenSearch
from asterism.collection.policy import Policy
from asterism.errors import IndexFolderError
from tests.conftest import ALL_VIEWS, in_all_views, make_query, make_vectors
from tests.faults.beside import ended, start, stop, wait_for_line
from tests.faults.readers_and_writer import add_groups
from tests.faults.small_index import checked


def readers_and_writer(folder: Path, readers: int, commits: int) -> int:
    """Makes `commits` commits while `readers` processes search; returns the number of searches."""
    collection = Collection.create(folder, ALL_VIEWS, {})
    add_groups(collection, range(20))
    add_groups(collection, range(20, 30))
    collection.policy = Policy(flat_tokens=500)
    with collection.writing() as writer:
        writer.settle()
    collection.close()
    reading = [start("readers_and_writer", "read", folder, 1, number + 1) for number in range(readers)]
    writing = start("readers_and_writer", "write", folder, commits, 0)
    with ended([*reading, writing]):
        for process in reading:
            assert wait_for_line(process) == "enough\n"
        stop([writing])
        searches = sum(int(out) for out in stop(reading))
    checked(folder)
    return searches


def test_three_readers_and_a_writer(tmp_path: Path) -> None:
    assert readers_and_writer(tmp_path / "x.ast", 3, 12) > 3


@pytest.mark.slow
def test_ten_readers_and_a_writer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    searches = readers_and_writer(tmp_path / "x.ast", 10, 200)
    with capsys.disabled():
        print(f"\nten readers: 200 commits, {searches} searches, all consistent")
    assert searches > 10


def small(path: Path) -> Collection:
    collection = Collection.create(path, ALL_VIEWS, {})
    with collection.writing() as writer:
        writer.add([Document("a", "text"), Document("b", "text")], in_all_views(make_vectors(2, shortest=1)))
    return collection


@pytest.mark.skipif(os.name != "posix", reason="needs permissions")
def test_a_read_only_folder_is_searched_and_not_written(tmp_path: Path) -> None:
    """As another user if this one is root, who may write anything."""
    collection = small(tmp_path / "x.ast")
    collection.close()
    for path in [collection.path, *collection.path.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    tmp_path.chmod(0o755)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.getuid() == 0:
                for parent in tmp_path.parents:  # pytest's folders are private
                    if parent.stat().st_uid == 0 and parent != Path("/"):
                        parent.chmod(parent.stat().st_mode | 0o055)
                os.setgid(65534)
                os.setuid(65534)
            reader = Collection.open(collection.path)
            found = reader.search(make_query(16), 2, TokenSearch()).documents
            reader.check()
            try:
                with reader.writing():
                    pass
            except IndexFolderError as error:
                code = 0 if "cannot be written" in str(error) and len(found) == 2 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for path in [collection.path, *collection.path.rglob("*")]:
        path.chmod(0o755)
