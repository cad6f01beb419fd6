"""Real files of many formats, changed, deleted and moved: the index equals one made afresh."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from asterism import EncoderSettings, Policy, Retriever, TermCounting
from tests import layouts
from tests.real_files import add_bad_files, collect_files

from .contents import content_of
from .opened_files import watch_opens

QUERIES = ("list of files", "error", "license", "return value", "python function", "how to install", "number")
FLAT = Policy(flat_tokens=10**9)  # exact: nothing is coded


def edit_files(root: Path, changed: int, deleted: int, moved: int, seed: int) -> None:
    """Change, delete and move some files."""
    rng = random.Random(seed)
    files = sorted(path for path in root.rglob("*") if path.is_file() and "bad" not in path.parts)
    chosen = rng.sample(files, changed + deleted + moved)
    for i, file in enumerate(chosen):
        if i < changed:
            file.write_text(f"A changed file about foxes, number {i}.\n\n" * rng.randint(1, 30))
        elif i < changed + deleted:
            file.unlink()
        else:
            file.rename(file.with_name(f"moved-{file.name}"))


def describe_files(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Of each file of an index: which one it is, its size and when it was written."""
    return {
        str(path.relative_to(folder)): (status.st_ino, status.st_size, status.st_mtime_ns)
        for path in folder.rglob("*")
        if not path.name.endswith("-shm")  # of SQLite, which readers share
        for status in [path.stat()]
    }


def search_all(retriever: Retriever, method: str) -> list[dict[str, float]]:
    """Of each query, the ids and scores of all that it finds."""
    rankings = retriever.search_many(QUERIES, len(retriever), method=method)
    return [{hit.id: hit.score for hit in ranking} for ranking in rankings]


def assert_equal(ours: Retriever, fresh: Retriever, methods: tuple[str, ...]) -> None:
    assert content_of(ours) == content_of(fresh)
    for method in methods:
        for found, wanted in zip(search_all(ours, method), search_all(fresh, method), strict=True):
            assert found == pytest.approx(wanted, rel=1e-3, abs=1e-3)


def run_through(
    tmp_path: Path, count: int, edits: tuple[int, int, int], methods: tuple[str, ...], **given: object
) -> None:
    root = tmp_path / "files"
    made = {"policy": FLAT, "counting": TermCounting(language="en"), **given}  # the first files would decide otherwise
    numbers = collect_files(root, count)
    bad = add_bad_files(root)
    assert bad == 20
    with Retriever.create(tmp_path / "x.ast", **made) as retriever:
        first = retriever.sync([root])
        assert sum(numbers.values()) == count
        assert first.read + len(first.skipped) == count + bad
        edit_files(root, *edits, seed=3)
        changed, deleted, moved = edits
        second = retriever.sync([root])
        assert second.read + second.replaced <= changed + moved + len(first.skipped)
        assert second.removed >= deleted
        time.sleep(2.1)  # until then a file may change again without another time stamp
        retriever.sync([root])
        before = describe_files(retriever.path)
        with watch_opens(root) as opened:
            third = retriever.sync([root])
        assert (opened, third.changed) == ([], False)
        assert describe_files(retriever.path) == before
        with Retriever.create(tmp_path / "y.ast", **made) as fresh:
            fresh.sync([root])
            assert_equal(retriever, fresh, methods)


def test_a_few_real_files(tmp_path: Path) -> None:
    model = layouts.colbert(tmp_path / "model")
    exact = EncoderSettings(precision="float32")  # other arithmetic depends on what is encoded together
    run_through(tmp_path, 40, (5, 3, 2), ("exact", "lexical"), model=model, encoder=exact)


@pytest.mark.slow
def test_two_thousand_real_files(tmp_path: Path) -> None:
    run_through(tmp_path, 2000, (50, 20, 10), ("lexical",), views=["lexical"])
