"""Adders, a compactor and readers at the same time: each of them gets a turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from asterism import Collection, Document
from tests.conftest import ALL_VIEWS
from tests.faults.beside import ended, start, stop, wait_for_line
from tests.faults.driver import views_of
from tests.faults.small_index import checked


def crowd(folder: Path, readers: int, works: int) -> dict[str, list[tuple[int, int, float]]]:
    """Runs until each process has done its work `works` times; by role: times done, times refused, longest time.

    A process that never gets a turn makes this time out.
    """
    roles = ["read"] * readers + ["add", "add", "compact"]
    collection = Collection.create(folder, ALL_VIEWS, {})
    texts = [f"text {i}" for i in range(500)]
    with collection.writing() as writer:
        documents = [Document(str(i), text, metadata={"n": i % 20}) for i, text in enumerate(texts)]
        writer.add(documents, views_of(texts))
    collection.close()
    running = [start("crowd", role, folder, works, number) for number, role in enumerate(roles)]
    with ended(running):
        for process in running:
            assert wait_for_line(process) == "enough\n"
        printed = stop(running)
    found: dict[str, list[tuple[int, int, float]]] = {}
    for role, line in zip(roles, printed, strict=True):
        done, busy, longest = line.split()
        found.setdefault(role, []).append((int(done), int(busy), float(longest)))
    checked(folder)
    return found


def test_every_process_of_a_crowd_makes_progress(tmp_path: Path) -> None:
    counts = crowd(tmp_path / "x", 2, 2)
    assert all(done >= 2 for role in counts.values() for done, _, _ in role), counts


@pytest.mark.slow
def test_a_crowd_with_more_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts = crowd(tmp_path / "x", 6, 50)
    with capsys.disabled():
        print(f"\nwork done, refused, longest: {counts}")
    assert all(done >= 50 for role in counts.values() for done, _, _ in role)
