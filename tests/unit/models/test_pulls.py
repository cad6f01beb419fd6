"""Folders of killed downloads are removed by the next one; folders in use are not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from asterism.errors import DownloadError
from asterism.models.downloads import pull_into_cache
from asterism.models.pulls import LOCK, MAKING, make_pull_folder

from .stored_files import GOOD, HASHES

PULL = """
import sys, time
from pathlib import Path
from asterism.models.pulls import make_pull_folder
with make_pull_folder(Path(sys.argv[1])) as folder:
    (folder / "80 MB").write_bytes(b"x")
    print("pulling", flush=True)
    time.sleep(60)
"""


def leftovers(folder: Path) -> list[Path]:
    return list(folder.glob(f".*{MAKING}*"))


def pulling(target: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", PULL, str(target)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "pulling\n"
    return process


def killed(process: subprocess.Popen[str]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


def test_a_killed_pull_is_swept_by_the_next(tmp_path: Path) -> None:
    killed(pulling(tmp_path / "x"))
    assert len(leftovers(tmp_path)) == 1
    pull_into_cache(GOOD, HASHES, tmp_path / "y")
    assert leftovers(tmp_path) == []
    assert (tmp_path / "y" / "config.json").exists()


def test_a_living_pull_stays(tmp_path: Path) -> None:
    process = pulling(tmp_path / "x")
    pull_into_cache(GOOD, HASHES, tmp_path / "x")
    (folder,) = leftovers(tmp_path)
    assert (folder / "80 MB").exists()
    killed(process)
    with make_pull_folder(tmp_path / "z"):
        assert not folder.exists()


def test_links_are_not_followed(tmp_path: Path) -> None:
    """Neither one in place of a folder, nor one inside of it, nor one in place of its lock."""
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("precious", LOCK):
        (outside / name).touch()
    cache = tmp_path / "cache"
    dead, locked = cache / f".x{MAKING}dead", cache / f".x{MAKING}link"
    for folder in (dead, locked):
        folder.mkdir(parents=True)
        (folder / "inside").symlink_to(outside)
    (dead / LOCK).touch()
    (locked / LOCK).symlink_to(outside / LOCK)
    (cache / f".x{MAKING}away").symlink_to(outside)
    os.mkfifo(cache / f".x{MAKING}fifo")
    with make_pull_folder(cache / "x"):
        pass
    assert {path.name for path in outside.iterdir()} == {"precious", LOCK}
    assert not dead.exists()
    assert locked.exists()


def test_a_folder_without_a_lock_yet(tmp_path: Path) -> None:
    """Removed if empty: its process died at once. Kept with files: it is not known whose they are."""
    (tmp_path / f".x{MAKING}empty").mkdir()
    (tmp_path / f".x{MAKING}foreign").mkdir()
    (tmp_path / f".x{MAKING}foreign" / "notes").touch()
    pull_into_cache(GOOD, HASHES, tmp_path / "x")
    assert [path.name for path in leftovers(tmp_path)] == [f".x{MAKING}foreign"]


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DownloadError, match="set ASTERISM_CACHE to another folder"):
        pull_into_cache(GOOD, HASHES, tmp_path / "file" / "x")
