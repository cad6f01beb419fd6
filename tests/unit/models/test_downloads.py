"""Downloads into the cache: only verified files get there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from asterism.errors import DownloadError
from asterism.models import registry
from asterism.models.downloads import pull_into_cache

from .stored_files import GOOD, HASHES, Files

PULL = """
import sys, time
from pathlib import Path
from asterism.models.downloads import pull_into_cache

class Slow:
    def fetch(self, files, folder, revision):
        (folder / "80 MB").write_bytes(b"x")
        print("pulling", flush=True)
        time.sleep(60)

pull_into_cache(Slow(), {}, Path(sys.argv[1]))
"""


def left_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_good_files_arrive(cache: Path) -> None:
    pull_into_cache(GOOD, HASHES, cache / "models" / "x")
    assert left_in(cache / "models") == ["x", "x/config.json", "x/sha256.json", "x/sub", "x/sub/weights.bin"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (Files((("config.json", b"{}"), ("sub/weights.bin", b"1234"))), r"weights\.bin has sha256 .*, expected"),
        (Files((("config.json", b"{}"),)), r"weights\.bin was not downloaded"),
        (Files((("config.json", b"broken"),)), "line went dead"),
    ],
)
def test_nothing_wrong_enters_the_cache(cache: Path, source: Files, message: str) -> None:
    with pytest.raises(DownloadError, match=message):
        pull_into_cache(source, HASHES, cache / "models" / "x")
    assert left_in(cache / "models") == []


def test_a_damaged_copy_is_replaced(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = registry.NamedModel("x", "", 1, HASHES, (GOOD,))
    monkeypatch.setitem(registry.MODELS, "x", model)
    folder = registry.find_or_fetch_model("x")
    (folder / "sub" / "weights.bin").write_bytes(b"99999")
    assert registry.find_copy(model) is None
    assert registry.find_or_fetch_model("x") == folder
    assert (folder / "sub" / "weights.bin").read_bytes() == b"12345"
    assert left_in(cache / "models") == ["x", "x/config.json", "x/sha256.json", "x/sub", "x/sub/weights.bin"]


def start_pulling(target: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", PULL, str(target)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "pulling\n"
    return process


def kill(process: subprocess.Popen[str]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


def find_leftovers(folder: Path) -> list[Path]:
    return list(folder.glob(".*.making-*"))


def test_a_killed_pull_is_swept_by_the_next(tmp_path: Path) -> None:
    kill(start_pulling(tmp_path / "x"))
    assert len(find_leftovers(tmp_path)) == 1
    pull_into_cache(GOOD, HASHES, tmp_path / "y")
    assert left_in(tmp_path) == ["y", "y/config.json", "y/sha256.json", "y/sub", "y/sub/weights.bin"]


def test_a_living_pull_stays(tmp_path: Path) -> None:
    process = start_pulling(tmp_path / "x")
    pull_into_cache(GOOD, HASHES, tmp_path / "x")
    (folder,) = find_leftovers(tmp_path)
    assert list(folder.rglob("80 MB"))
    kill(process)
    pull_into_cache(GOOD, HASHES, tmp_path / "z")
    assert not folder.exists()


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DownloadError, match="set ASTERISM_CACHE to another folder"):
        pull_into_cache(GOOD, HASHES, tmp_path / "file" / "x")
