"""Folders that are whole or not there."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from asterism.files.new_folders import LOCK, make_temporary_folder, make_whole_folder


def test_a_whole_folder(tmp_path: Path) -> None:
    target = tmp_path / "new" / "model"
    with make_whole_folder(target) as inside:
        (inside / "part").mkdir()
        (inside / "part" / "file").write_text("x")
        assert not target.exists()
    assert (target / "part" / "file").read_text() == "x"
    assert os.listdir(tmp_path / "new") == ["model"]


@pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt])
def test_nothing_after_an_error(tmp_path: Path, error: type[BaseException]) -> None:
    def fail() -> None:
        with make_whole_folder(tmp_path / "model") as inside:
            (inside / "file").write_text("x")
            raise error

    with pytest.raises(error):
        fail()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
@pytest.mark.parametrize("late", [False, True])
def test_a_path_that_is_taken(tmp_path: Path, kind: str, late: bool) -> None:
    target = tmp_path / "model"
    make = {"folder": target.mkdir, "file": target.touch, "link": lambda: target.symlink_to("nowhere")}[kind]
    if not late:
        make()
    with pytest.raises(FileExistsError), make_whole_folder(target):
        make()
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize("name", ["file", "file/below"])
def test_a_path_below_a_file_is_not_taken(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError), make_whole_folder(tmp_path / name / "model"):
        pass


def test_leftovers_of_dead_processes(tmp_path: Path) -> None:
    for name in (".model.making-dead", ".other.making-dead"):
        (tmp_path / name).mkdir()
        (tmp_path / name / LOCK).touch()
        (tmp_path / name / "file").touch()
    (tmp_path / ".model.making-link").symlink_to(tmp_path)
    with make_whole_folder(tmp_path / "model") as first:
        with pytest.raises(FileExistsError), make_whole_folder(tmp_path / "model"):
            (tmp_path / "model").mkdir()
        assert first.exists()  # it is in use
        (tmp_path / "model").rmdir()
    assert sorted(os.listdir(tmp_path)) == [".model.making-link", ".other.making-dead", "model"]


def test_a_folder_without_a_lock_yet(tmp_path: Path) -> None:
    """Removed if empty: its process died at once. Kept with files: it is not known whose they are."""
    (tmp_path / ".x.making-empty").mkdir()
    (tmp_path / ".x.making-foreign").mkdir()
    (tmp_path / ".x.making-foreign" / "notes").touch()
    with make_temporary_folder(tmp_path / "x"):
        pass
    assert os.listdir(tmp_path) == [".x.making-foreign"]


def test_links_are_not_followed(tmp_path: Path) -> None:
    """Neither one in place of a folder, nor one inside of it, nor one in place of its lock."""
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("precious", LOCK):
        (outside / name).touch()
    beside = tmp_path / "beside"
    dead, locked = beside / ".x.making-dead", beside / ".x.making-link"
    for folder in (dead, locked):
        folder.mkdir(parents=True)
        (folder / "inside").symlink_to(outside)
    (dead / LOCK).touch()
    (locked / LOCK).symlink_to(outside / LOCK)
    (beside / ".x.making-away").symlink_to(outside)
    os.mkfifo(beside / ".x.making-fifo")
    with make_temporary_folder(beside / "x"):
        pass
    assert {path.name for path in outside.iterdir()} == {"precious", LOCK}
    assert not dead.exists()
    assert locked.exists()


def test_makers_that_sweep_at_once(tmp_path: Path) -> None:
    """A folder may be swept before it is locked; then its maker makes another."""

    def work(number: int) -> bool:
        for _ in range(50):
            with make_temporary_folder(tmp_path / "x") as folder:
                (folder / f"{number}").touch()
                if sorted(os.listdir(folder)) != sorted([LOCK, f"{number}"]):
                    return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))
    assert os.listdir(tmp_path) == []
