"""Runs under file_faults.c: syncs of a changing folder that are killed; then one more sync, and the index is right.

python -m tests.faults.sync_driver FOLDER KILLS SEED      prints the counts, exits 0 if every state was right
"""

from __future__ import annotations

import random
import re
import shutil
import signal
import sys
from collections import Counter, defaultdict
from pathlib import Path

from asterism import Policy, Retriever
from tests.faults.children import in_child
from tests.unit.retriever.syncing.contents import content_afresh, content_of

POLICY = Policy(batch_documents=5, most_segments=4)  # files of several commits, and merges, are killed too
MOST_FILES = 10
VERSION = re.compile(r"version(\d+) of (\S+)")


class ChangingFolder:
    """Files of one to twelve passages, of which each says its file and version."""

    def __init__(self, root: Path, rng: random.Random) -> None:
        self.root = root
        self._rng = rng
        self._version = 0
        root.mkdir()
        for _ in range(8):
            self._write(self._new_name())

    def change(self) -> None:
        """Some files change, some go, some move, some come."""
        files = sorted(path for path in self.root.rglob("*") if path.is_file())
        for file in self._rng.sample(files, self._rng.randint(0, len(files) // 2)):
            kind = self._rng.choice(["change", "change", "remove", "move"])
            if kind == "change":
                self._write(file)
            elif kind == "remove":
                file.unlink()
            else:
                file.rename(self._new_name())
        for _ in range(self._rng.randint(1, 4) if len(files) < MOST_FILES else 0):
            self._write(self._new_name())

    def _new_name(self) -> Path:
        folder = self.root / self._rng.choice(["", "a", "a/b", "c"])
        folder.mkdir(parents=True, exist_ok=True)
        self._version += 1
        return folder / f"f{self._version}.txt"

    def _write(self, file: Path) -> None:
        self._version += 1
        size = self._rng.choice([1, 1, 2, 3, 12])
        words = " ".join(f"word{self._rng.randint(0, 99)}" for _ in range(150))
        said = f"version{self._version} of {file.name}"
        file.write_text("\n\n".join(f"{said}. {words}" for _ in range(size)))


def verify_half_done(index: Path) -> int:
    """Right after a kill: the index is whole, and no file has passages of two versions; returns how many there are."""
    with Retriever.open(index, policy=POLICY) as retriever:
        retriever.check()
        versions = defaultdict(set)
        for document in retriever:
            versions[document.metadata["file"]] |= set(VERSION.findall(document.text))
        if mixed := {file: found for file, found in versions.items() if len(found) > 1}:
            raise SystemExit(f"old and new passages side by side: {mixed}")
        return len(retriever)


def verify_synced(index: Path, root: Path, fresh: Path) -> None:
    """After one more sync: as a new index of the same folder, by its content and by searching."""
    with Retriever.open(index, policy=POLICY) as retriever:
        retriever.sync([root])
        retriever.check()
        found = content_of(retriever)
        shutil.rmtree(fresh, ignore_errors=True)
        wanted = content_afresh(fresh, root)
        if found != wanted:
            odd = sorted(id for id in found.keys() | wanted.keys() if found.get(id) != wanted.get(id))
            raise SystemExit(f"stale, missing or double after a sync: {odd[:5]}")
        with Retriever.open(fresh) as other:
            for query in ("version", "word7 word12", "f3.txt"):
                ours, theirs = (
                    {hit.id: hit.document.text for hit in one.search(query, len(found) or 1, method="lexical")}
                    for one in (retriever, other)
                )
                if ours != theirs:
                    raise SystemExit(f"{query!r} finds {len(ours)} passages, expected {len(theirs)}")


def main(folder: Path, kills: int, seed: int) -> None:
    rng = random.Random(seed)
    folder.mkdir()
    index, changing = folder / "x.ast", ChangingFolder(folder / "notes", rng)
    Retriever.create(index, views=["lexical"]).close()
    length = 300  # file operations of a sync
    outcomes: Counter[str] = Counter()

    def sync() -> None:
        with Retriever.open(index, policy=POLICY) as retriever:
            retriever.sync([changing.root])

    while outcomes["kills"] < kills:
        code, count = in_child(sync, rng.randint(1, length), "k")
        if code == 0:
            length = max(20, count)
            outcomes["ended first"] += 1
        elif code == -signal.SIGKILL:
            outcomes["kills"] += 1
            outcomes["passages seen"] += verify_half_done(index)
            print(f"{outcomes['kills']} kills", file=sys.stderr, flush=True)
            if rng.random() < 0.3:  # killed again, perhaps after more changes
                if rng.random() < 0.5:
                    changing.change()
                continue
        else:
            raise SystemExit(f"a sync ended with {code}")
        verify_synced(index, changing.root, folder / "fresh.ast")
        changing.change()
        length = max(length, 60)
    print(", ".join(f"{name} {count}" for name, count in sorted(outcomes.items())))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
