"""One process of the concurrency test: `python -m tests.faults.readers_and_writer write|read FOLDER COUNT SEED`.

Documents come and go in groups of five that share a field, one commit a group: a reader that sees four of them has
seen a state that was never committed. When its standard input is closed the writer makes COUNT commits, and a reader,
which has printed a line after COUNT searches, stops and prints how many there were.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from asterism import Collection, Document, TokenSearch
from tests.faults.beside import is_stopped
from tests.faults.driver import vectors_of, views_of

GROUP = 5


def add_groups(collection: Collection, groups: Iterable[int]) -> None:
    """In one commit."""
    documents = [
        Document(f"g{group}-{i}", f"{group} {i}", metadata={"group": group}) for group in groups for i in range(GROUP)
    ]
    with collection.writing() as writer:
        writer.add(documents, views_of([document.text for document in documents]))


def write(collection: Collection, count: int, rng: random.Random) -> None:
    groups = sorted({document.metadata["group"] for document in collection.documents()})
    group = max(groups)
    sys.stdin.read()
    for _ in range(count):
        what = rng.random()
        if what < 0.6:
            group += 1
            add_groups(collection, [group])
            groups.append(group)
        elif what < 0.9 and len(groups) > 10:
            gone = groups.pop(rng.randrange(len(groups)))
            with collection.writing() as writer:
                writer.delete([f"g{gone}-{i}" for i in range(GROUP)])
        else:
            with collection.writing() as writer:
                writer.compact() if what > 0.95 else writer.settle()


def read(collection: Collection, count: int, rng: random.Random) -> None:
    looks = 0
    while not is_stopped():
        method = rng.choice(["exact", "colbert", "xtr"])
        query = vectors_of([f"{rng.randrange(60)} {rng.randrange(GROUP)}"])[0]
        k = rng.choice([3, 10, 10_000])
        where = {"group": rng.randrange(80)} if rng.random() < 0.3 else None
        hits = collection.search(query, k, TokenSearch(method=method), where).documents
        groups = Counter(document.metadata["group"] for document, _ in hits)
        if k == 10_000 and set(groups.values()) - {GROUP}:
            raise SystemExit(f"half a group: {groups}")
        if any(document.text != document.id[1:].replace("-", " ") for document, _ in hits):
            raise SystemExit("a document with another's text")
        if [score for _, score in hits] != sorted((score for _, score in hits), reverse=True):
            raise SystemExit("scores out of order")
        looks += 1
        if looks == count:
            print("enough", flush=True)
    print(looks)


if __name__ == "__main__":
    role, folder, count, seed = sys.argv[1:]
    (write if role == "write" else read)(Collection.open(Path(folder)), int(count), random.Random(seed))
