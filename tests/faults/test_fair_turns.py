"""Who waits gets a turn: adders and a compactor beside readers, none of whom waits long."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from asterism import Collection, Document
from tests.conftest import ALL_VIEWS
from tests.faults.driver import views_of

ROOT = Path(__file__).parents[2]
ROLES = ["read"] * 6 + ["add"] * 2 + ["compact"]


def crowd(folder: Path, seconds: float) -> dict[str, list[tuple[int, int, float]]]:
    """By role: work done, times told to wait, the longest single piece of work."""
    collection = Collection.create(folder, ALL_VIEWS, {})
    texts = [f"text {i}" for i in range(500)]
    with collection.writing() as writer:
        documents = [Document(str(i), text, metadata={"n": i % 20}) for i, text in enumerate(texts)]
        writer.add(documents, views_of(texts))
    collection.close()
    running = []
    for number, role in enumerate(ROLES):
        command = [sys.executable, "-m", "tests.faults.crowd", role, str(folder), str(seconds), str(number)]
        running.append(subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    found: dict[str, list[tuple[int, int, float]]] = {}
    for role, process in zip(ROLES, running, strict=True):
        out, errors = process.communicate()
        assert process.returncode == 0, errors
        done, busy, longest = out.split()
        found.setdefault(role, []).append((int(done), int(busy), float(longest)))
    collection = Collection.open(folder)
    collection.check()
    collection.close()
    return found


def test_everybody_in_a_crowd_makes_progress(tmp_path: Path) -> None:
    for role, counts in crowd(tmp_path / "x", 6).items():
        assert all(done > 0 for done, _, _ in counts), (role, counts)


@pytest.mark.slow
def test_a_crowd_for_two_minutes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts = crowd(tmp_path / "x", 120)
    with capsys.disabled():
        print(f"\nwork done, told to wait, longest: {counts}")
    assert all(done > 0 for role in counts.values() for done, _, _ in role)
