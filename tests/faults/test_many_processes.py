"""Ten readers while a writer adds, deletes and compacts; two writers; a folder that cannot be written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from asterism import Collection, Document, TokenSearch
from asterism.collection import writer as collection_writer
from asterism.errors import IndexFolderError
from tests.conftest import ALL_VIEWS, in_all_views, make_query, make_vectors
from tests.faults.readers_and_writer import add_group

ROOT = Path(__file__).parents[2]


def start(role: str, folder: Path, seconds: float, seed: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.faults.readers_and_writer", role, str(folder), str(seconds), str(seed)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def readers_and_writer(folder: Path, seconds: float, readers: int) -> tuple[int, int]:
    """Commits and looks."""
    collection = Collection.create(folder, ALL_VIEWS, {})
    for group in range(30):
        add_group(collection, group)
    with collection.writing() as writer:
        before = collection_writer.FLAT_TOKENS
        collection_writer.FLAT_TOKENS = 500
        writer.settle()
        collection_writer.FLAT_TOKENS = before
    collection.close()
    running = [start("write", folder, seconds, 0)] + [start("read", folder, seconds, n + 1) for n in range(readers)]
    counts = []
    for process in running:
        out, errors = process.communicate()
        assert process.returncode == 0, out + errors
        counts.append(int(out))
    collection = Collection.open(folder)
    collection.check()
    collection.close()
    return counts[0], sum(counts[1:])


def test_three_readers_and_a_writer(tmp_path: Path) -> None:
    commits, looks = readers_and_writer(tmp_path / "x.ast", 3, 3)
    assert commits > 0
    assert looks > 0


@pytest.mark.slow
def test_ten_readers_and_a_writer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commits, looks = readers_and_writer(tmp_path / "x.ast", 40, 10)
    with capsys.disabled():
        print(f"\nten readers: {commits} commits, {looks} searches, all consistent")
    assert commits > 20


def small(path: Path) -> Collection:
    collection = Collection.create(path, ALL_VIEWS, {})
    with collection.writing() as writer:
        writer.add([Document("a", "text"), Document("b", "text")], in_all_views(make_vectors(2, shortest=1)))
    return collection


@pytest.mark.skipif(os.name != "posix", reason="needs permissions")
def test_a_read_only_folder_is_searched_and_not_written(tmp_path: Path) -> None:
    """As another user where this one may write anything."""
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
