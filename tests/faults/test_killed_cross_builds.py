"""A build of anchor scores that is killed again and again ends with the bytes of one that never was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np

import asterism
from tests import layouts
from tests.unit.factorised.matrices import MatrixScorer, draw_matrix, name_items, name_queries

ITEMS, QUERIES = 240, 12
MATRIX = draw_matrix(QUERIES + 1, ITEMS, 5, 11)


class DyingScorer(MatrixScorer):
    """Kills its process after some calls."""

    def __init__(self, calls: int) -> None:
        super().__init__(MATRIX)
        self.calls = calls

    def score(self, query: str, texts: list[str]) -> np.ndarray:
        self.calls -= len(texts)
        if self.calls < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().score(query, texts)


def build(path: Path, scorer: MatrixScorer) -> asterism.FactorisedIndex:
    from asterism.retriever import cross_building

    cross_building.BLOCK_CALLS = 10 * QUERIES  # 24 blocks
    return asterism.FactorisedIndex.build(scorer, name_items(ITEMS), name_queries(range(QUERIES)), path, anchor_items=8)


def fit(path: Path, model: Path, scorer: MatrixScorer) -> asterism.FactorisedIndex:
    from asterism.retriever import cross_fitting

    cross_fitting.FIRST_CALLS = 100  # five queries
    items, queries = name_items(ITEMS), name_queries(range(QUERIES))
    return asterism.FactorisedIndex.build(scorer, items, queries, path, model=model, sparse=20)


def read_scores(folder: Path, name: str = "cross") -> dict[str, bytes]:
    """All files of the scores but locks."""
    files = (file for file in (folder / name).rglob("*") if file.is_file() and not file.name.startswith("writer"))
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def test_killed_builds_end_with_the_same_bytes(tmp_path: Path) -> None:
    code = f"from {__name__} import *; build(Path(sys.argv[1]), DyingScorer(int(sys.argv[2])))"
    for calls in (0, 500, 10, 901):  # before the first block, after some, in the middle of one
        command = [sys.executable, "-c", code, str(tmp_path / "killed.cur"), str(calls)]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    scorer = MatrixScorer(MATRIX)
    build(tmp_path / "killed.cur", scorer).close()
    assert len(scorer.asked) == ITEMS * QUERIES - 480 - 840  # whole blocks of 120 calls were kept
    with build(tmp_path / "whole.cur", MatrixScorer(MATRIX)) as whole:
        expected = whole.search(f"q{QUERIES}", 5, calls=30)
    assert read_scores(tmp_path / "killed.cur") == read_scores(tmp_path / "whole.cur")
    with asterism.FactorisedIndex.open(tmp_path / "killed.cur", MatrixScorer(MATRIX)) as found:
        found.check()
        assert found.search(f"q{QUERIES}", 5, calls=30).ids == expected.ids


def test_killed_fits_end_with_the_same_bytes(tmp_path: Path) -> None:
    model = layouts.bge_m3(tmp_path / "model")
    code = f"from {__name__} import *; fit(Path(sys.argv[1]), Path(sys.argv[2]), DyingScorer(int(sys.argv[3])))"
    for calls in (10, 130):  # before the first block, and in the middle of the second
        command = [sys.executable, "-c", code, str(tmp_path / "killed.cur"), str(model), str(calls)]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    scorer = MatrixScorer(MATRIX)
    fit(tmp_path / "killed.cur", model, scorer).close()
    assert len(scorer.asked) == 20 * QUERIES - 100
    fit(tmp_path / "whole.cur", model, MatrixScorer(MATRIX)).close()
    assert read_scores(tmp_path / "killed.cur", "pairs") == read_scores(tmp_path / "whole.cur", "pairs")
    with asterism.FactorisedIndex.open(tmp_path / "killed.cur", MatrixScorer(MATRIX)) as found:
        found.check()
