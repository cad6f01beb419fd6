"""Runs under file_faults.c: a token index whose build, and whose add, is killed at many of its file operations.

python -m tests.faults.token_index_driver FOLDER KILLS      prints the counts, exits 0 if every state was right
"""

from __future__ import annotations

import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from asterism import TokenIndex
from asterism.errors import NotAnIndex
from tests.conftest import make_vectors
from tests.faults.children import NEVER, in_child

BUILT, ADDED = 60, 30


def build(target: Path) -> None:
    TokenIndex.build(target, make_vectors(BUILT), threads=1)


def add(target: Path) -> None:
    """Large enough that the two segments are merged."""
    TokenIndex.open(target).add(make_vectors(ADDED, seed=1))


def documents_of(target: Path) -> int:
    """0 if there is no index; an index must be whole."""
    try:
        index = TokenIndex.open(target)
    except NotAnIndex:
        return 0
    index.check()
    return len(index)


def kill(work: Callable[[Path], None], target: Path, states: tuple[int, int], kills: int) -> Counter[str]:
    """`states`: documents before and after the work. Work that was killed is done again, and leaves the new state."""
    folder = target.parent
    original = shutil.copytree(folder, folder.with_name("original"))
    code, operations = in_child(lambda: work(target), NEVER, "k")
    if code or documents_of(target) != states[1]:
        raise SystemExit(f"{work.__name__} ended with {code}")
    left = sorted(path.relative_to(folder) for path in folder.rglob("*"))
    found: Counter[str] = Counter()
    for at in np.unique(np.linspace(1, operations, kills).astype(int)).tolist():
        shutil.rmtree(folder)
        shutil.copytree(original, folder)
        code, _ = in_child(lambda: work(target), at, "k")
        if code != -signal.SIGKILL:
            raise SystemExit(f"{work.__name__} ended with {code}, expected a kill at operation {at}")
        documents = documents_of(target)
        if documents not in states:
            raise SystemExit(f"{documents} documents after a kill at operation {at} of {work.__name__}")
        found[f"{work.__name__}: {'new' if documents == states[1] else 'old'} state"] += 1
        if documents == states[0]:
            work(target)
            if (again := sorted(path.relative_to(folder) for path in folder.rglob("*"))) != left:
                raise SystemExit(f"left over after operation {at} of {work.__name__}: {again}")
            if documents_of(target) != states[1]:
                raise SystemExit(f"{work.__name__} after a kill at operation {at} made another index")
    shutil.rmtree(original)
    return found


def main(folder: Path, kills: int) -> None:
    folder.mkdir()
    target = folder / "x.tokens"
    counts = kill(build, target, (0, BUILT), kills)
    shutil.rmtree(folder)
    folder.mkdir()
    build(target)
    counts += kill(add, target, (BUILT, BUILT + ADDED), kills)
    print(", ".join(f"{name} {count}" for name, count in sorted(counts.items())))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
