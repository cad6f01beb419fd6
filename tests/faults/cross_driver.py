"""Runs under file_faults.c: a build of anchor scores is killed, or finds the disk full, at many of its file operations.

python -m tests.faults.cross_driver FOLDER MODE(k|f) FAULTS      prints the counts, exits 0 if every state was right
"""

from __future__ import annotations

import shutil
import signal
import sys
from pathlib import Path

import numpy as np

import asterism
from asterism.errors import IndexFolderError
from asterism.retriever import cross_building
from tests.faults.children import NEVER, REPORTED, in_child
from tests.unit.factorised.matrices import MatrixScorer, draw_matrix, name_items, name_queries

ITEMS, QUERIES = 40, 6
MATRIX = draw_matrix(QUERIES + 1, ITEMS, 3, 1)


def build(path: Path, scorer: MatrixScorer) -> None:
    """Six blocks and their joining."""
    cross_building.BLOCK_CALLS = 7 * QUERIES
    asterism.FactorisedIndex.build(
        scorer, name_items(ITEMS), name_queries(range(QUERIES)), path, anchor_items=3
    ).close()


def read_scores(path: Path) -> dict[str, bytes]:
    files = (file for file in (path / "cross").rglob("*") if file.is_file())
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


def main(folder: Path, mode: str, faults: int) -> None:
    folder.mkdir()
    code, operations = in_child(lambda: build(folder / "whole", MatrixScorer(MATRIX)), NEVER, "k")
    if code:
        raise SystemExit(f"a build without faults ended with {code}")
    expected, most = read_scores(folder / "whole"), 0
    chosen = np.unique(np.linspace(1, operations, faults).astype(int)).tolist()
    path = folder / "x"
    for at in chosen:
        code, _ = in_child(lambda: build(path, MatrixScorer(MATRIX)), at, mode)
        if code not in ((-signal.SIGKILL,) if mode == "k" else (0, REPORTED)):
            raise SystemExit(f"a fault at operation {at} ended with {code}")
        try:
            with asterism.Retriever.open(path) as retriever:
                retriever.check()
        except IndexFolderError:
            if path.exists():
                raise
        scorer = MatrixScorer(MATRIX)
        try:
            build(path, scorer)
        except asterism.errors.IndexExists:  # the fault came after all was done
            most += 1
        if read_scores(path) != expected:
            raise SystemExit(f"other scores after a fault at operation {at}")
        shutil.rmtree(path)
    print(f"faults {len(chosen)} of {operations} operations, {most} after the end")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
