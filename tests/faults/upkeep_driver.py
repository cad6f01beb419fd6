"""Runs under file_faults.c: metadata are changed, or an index is copied, by children that are killed or find no space.

python -m tests.faults.upkeep_driver FOLDER MODE(k|f) WORK(metadata|backup|copy) FAULTS
prints the counts, exits 0 if every state was right; "copy" is a backup where no hard links can be made
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

import asterism
from asterism import Document, Retriever
from asterism.factorised.table import ScoreTable
from tests.faults.children import NEVER, REPORTED, in_child
from tests.unit.factorised.matrices import MatrixScorer, draw_matrix, name_items, name_queries

ITEMS, QUERIES = 40, 6
MATRIX = draw_matrix(QUERIES + 1, ITEMS, 3, 1)
CHOSEN = [str(i) for i in range(0, ITEMS, 3)]
Listed = dict[str, tuple[str, Any]]


def change(path: Path, mark: int) -> None:
    with Retriever.open(path) as retriever:
        assert retriever.set_metadata({"mark": mark}, CHOSEN) == len(CHOSEN)


def back_up(path: Path, to: Path, links: bool) -> None:
    if not links:
        os.link = refuse_link
    with Retriever.open(path) as retriever:
        retriever.backup(to)


def refuse_link(*_: Any, **__: Any) -> None:
    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))


def look(path: Path) -> Listed:
    """What an index holds, after a check; scores of the scorer must be those of the documents' texts."""
    with Retriever.open(path) as retriever:
        retriever.check()
        listed = {document.id: (document.text, document.metadata.get("mark")) for document in retriever}
        ids = [document.id for document in retriever.list(filter={"mark": {"$exists": True}})]
        assert set(ids) == {id for id, (_, mark) in listed.items() if mark is not None}
        for id, (text, _) in listed.items():
            assert id in retriever.search(text, ITEMS, method="lexical").ids
        with retriever.collection.reading() as reader:
            numbers = {number: int(id) for number, id in reader.read_all_ids().items()}
        table = ScoreTable.open(path / "cross")
        for number, row in zip(table.numbers.tolist(), table.read(), strict=True):
            if number in numbers:
                np.testing.assert_array_equal(row, MATRIX[:QUERIES, numbers[number]].astype(np.float32))
    return listed


def main(folder: Path, mode: str, work: str, faults: int) -> None:
    folder.mkdir()
    path, to = folder / "x.ast", folder / "y.ast"
    scorer = MatrixScorer(MATRIX)
    queries = name_queries(range(QUERIES))
    asterism.FactorisedIndex.build(scorer, name_items(ITEMS), queries, path, anchor_items=3).close()
    with Retriever.open(path) as retriever:
        retriever.add([Document("late", "a late one")])
        retriever.delete(["late"])
    state = look(path)

    def run(number: int) -> None:
        if work == "metadata":
            change(path, number)
        else:
            back_up(path, to, work == "backup")

    code, operations = in_child(lambda: run(0), NEVER, "k")
    assert code == 0
    shutil.rmtree(to, ignore_errors=True)
    state = look(path)
    counts = {"old": 0, "new": 0}
    for number, at in enumerate(np.linspace(1, operations, faults).astype(int).tolist(), 1):
        code, _ = in_child(lambda number=number: run(number), at, mode)
        if code not in ((-signal.SIGKILL, 0) if mode == "k" else (0, REPORTED)):
            raise SystemExit(f"a fault at operation {at} ended with {code}")
        after = {id: (text, number if id in CHOSEN else mark) for id, (text, mark) in state.items()}
        found = look(path)
        if work == "metadata":
            assert found in (state, after), f"half a change at operation {at}"
            counts["new" if found == after else "old"] += 1
            change(path, 1000 + number)  # which goes on after any fault
            state = look(path)
            continue
        assert found == state
        counts["new" if to.exists() else "old"] += 1
        if to.exists():
            assert look(to) == state
            shutil.rmtree(to)
        with Retriever.open(path) as retriever:
            retriever.backup(to)
        assert look(to) == state
        assert {one.name for one in folder.iterdir()} == {"x.ast", "y.ast"}, "something was left behind"
        shutil.rmtree(to)
    print(f"faults {faults} of {operations} operations: {counts}")
    assert counts["old"]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
