"""A writer is killed, or finds the disk full, at any file operation: nothing that was committed is lost."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("cc") is None, reason="needs Linux and a C compiler"
)


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("faults") / "file_faults.so"
    command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(HERE / "file_faults.c"), "-ldl"]
    subprocess.run(command, check=True)
    return library


def run(shim: Path, module: str, *arguments: object) -> str:
    command = [sys.executable, "-m", f"tests.faults.{module}", *map(str, arguments)]
    environment = {**os.environ, "LD_PRELOAD": str(shim), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=HERE.parents[1], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    return done.stdout


@pytest.mark.parametrize("mode", ["k", "f"], ids=["killed", "disk full"])
def test_a_few_faults(shim: Path, tmp_path: Path, mode: str) -> None:
    assert "faults 15" in run(shim, "driver", tmp_path / "x.ast", mode, 15, 3)


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "faults"), [("k", 400), ("f", 150)], ids=["killed", "disk full"])
def test_many_faults(shim: Path, tmp_path: Path, mode: str, faults: int, capsys: pytest.CaptureFixture[str]) -> None:
    counts = run(shim, "driver", tmp_path / "x.ast", mode, faults, 11)
    with capsys.disabled():
        print(f"\n{'killed' if mode == 'k' else 'disk full'}: {counts.strip()}")
    assert f"faults {faults}" in counts


def test_a_few_killed_syncs(shim: Path, tmp_path: Path) -> None:
    assert "kills 5" in run(shim, "sync_driver", tmp_path / "x", 5, 5)


@pytest.mark.slow
def test_many_killed_syncs(shim: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After a kill at any moment, one more sync leaves nothing stale and nothing double."""
    counts = run(shim, "sync_driver", tmp_path / "x", 150, 7)
    with capsys.disabled():
        print(f"\nkilled syncs: {counts.strip()}")
    assert "kills 150" in counts


def test_a_killed_writer_of_a_token_index(shim: Path, tmp_path: Path) -> None:
    """A killed build leaves no index or a whole one, a killed add the old or the new one; both can be repeated."""
    counts = run(shim, "token_index_driver", tmp_path / "x", 10)
    assert re.findall(r"(\w+: \w+ state)", counts) == [
        "add: new state",
        "add: old state",
        "build: new state",
        "build: old state",
    ]


@pytest.mark.parametrize("work", ["metadata", "backup", "copy"])
@pytest.mark.parametrize("mode", ["k", "f"], ids=["killed", "disk full"])
def test_upkeep(shim: Path, tmp_path: Path, mode: str, work: str) -> None:
    """Metadata are changed for all or for none; a copy is complete or not there; scores stay those of their texts."""
    assert "faults 10 " in run(shim, "upkeep_driver", tmp_path / "x", mode, work, 10)


@pytest.mark.parametrize("mode", ["k", "f"], ids=["killed", "disk full"])
def test_a_build_of_anchor_scores(shim: Path, tmp_path: Path, mode: str) -> None:
    """What was scored before is intact, and the next build ends with the bytes of one that never failed."""
    assert "faults 12 " in run(shim, "cross_driver", tmp_path / "x", mode, 12)
