"""Folders that are whole or not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from asterism.files.new_folders import make_whole_folder


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


def test_leftovers_of_dead_processes(tmp_path: Path) -> None:
    (tmp_path / ".model.writing-dead").mkdir()
    (tmp_path / ".model.writing-dead" / "file").touch()
    (tmp_path / ".model.writing-link").symlink_to(tmp_path)
    (tmp_path / ".other.writing-dead").mkdir()
    with make_whole_folder(tmp_path / "model") as first:
        with pytest.raises(FileExistsError), make_whole_folder(tmp_path / "model"):
            (tmp_path / "model").mkdir()
        assert first.exists()  # it is in use
        (tmp_path / "model").rmdir()
    assert sorted(os.listdir(tmp_path)) == [".model.writing-link", ".other.writing-dead", "model"]
