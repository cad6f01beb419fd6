"""Runs under file_faults.c: one collection, written again and again by children that are killed, or find the disk full.

python -m tests.faults.driver FOLDER MODE(k|f) FAULTS SEED      prints the counts, exits 0 if every state was right
"""

from __future__ import annotations

import random
import signal
import sys
import zlib
from collections import Counter
from pathlib import Path

import numpy as np

from asterism import Collection, Document, Representations, TokenSearch, TokenVectors
from asterism.collection.policy import Policy
from asterism.errors import AsterismError
from asterism.terms.counting import count_words
from tests.conftest import ALL_VIEWS, found_in
from tests.faults.children import REPORTED, in_child

DIMENSIONS = 16
EXACT = TokenSearch(method="exact")
POLICY = Policy(flat_tokens=1_500, most_segments=6, outgrown=3)  # training, retraining and merging are killed too

Contents = dict[str, str]  # id -> text


def vectors_of(texts: list[str]) -> TokenVectors:
    """Random ones, the same for the same text, so that a text's own vectors find it and nothing else."""
    rows = []
    for text in texts:
        rng = np.random.default_rng(zlib.crc32(text.encode()))
        vectors = rng.normal(size=(6, DIMENSIONS))
        rows.append((vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32))
    return TokenVectors.from_documents(rows)


def views_of(texts: list[str]) -> Representations:
    vectors = vectors_of(texts)
    dense = np.stack([vectors[i][0] for i in range(len(texts))])
    return Representations(len(texts), dense, count_words(texts), vectors)


class Operation:
    """What a child does, and the contents afterwards."""

    def __init__(self, rng: random.Random, contents: Contents, number: int) -> None:
        ids = list(contents)
        kinds = ["add", "add", "update", "delete", "compact", "settle"] if len(ids) > 20 else ["add"]
        self.kind = rng.choice(kinds)
        self.after = dict(contents)
        self.documents: list[Document] = []
        self.ids: list[str] = []
        if self.kind == "add":
            self._documents([f"n{number}-{i}" for i in range(rng.randint(1, 30))], number)
        elif self.kind == "update":
            self._documents(rng.sample(ids, rng.randint(1, 10)), number)
        elif self.kind == "delete":
            most = len(ids) // 2 if len(ids) > 200 else 10
            self.ids = rng.sample(ids, rng.randint(1, most))
            for id in self.ids:
                del self.after[id]

    def _documents(self, ids: list[str], number: int) -> None:
        for id in ids:
            self.after[id] = f"text of {id} as of {number}"
            metadata = {"number": number, "tags": ["a", id]}
            self.documents.append(Document(id=id, text=self.after[id], metadata=metadata))

    def run(self, folder: Path) -> None:
        with Collection.open(folder, POLICY).writing() as writer:
            if self.documents:
                texts = [document.text for document in self.documents]
                writer.add(self.documents, views_of(texts), update=self.kind == "update")
            elif self.ids:
                writer.delete(self.ids)
            elif self.kind == "compact":
                writer.compact()
            else:
                writer.settle()


def verify(folder: Path, choices: list[Contents], rng: random.Random) -> Contents:
    """Checks that the contents are one of the choices, by listing and by searching; returns them."""
    collection = Collection.open(folder)
    collection.check()
    found = {document.id: document.text for document in collection.documents()}
    if found not in choices:
        raise SystemExit(f"{len(found)} documents, expected one of {[len(choice) for choice in choices]}")
    ids = rng.sample(list(found), min(20, len(found)))
    for id, document in zip(ids, collection.get(ids), strict=True):
        hits = collection.search(vectors_of([document.text])[0], 3, EXACT).documents
        if (hits[0][0].id, hits[0][0].text) != (id, found[id]):
            raise SystemExit(f"{id} was not found by its own vectors: {hits[0][0]}")
        for view in ("dense", "lexical"):
            own = found_in(collection, views_of([document.text]), view, len(found)).documents
            if (id, found[id]) not in [(hit.id, hit.text) for hit, _ in own]:
                raise SystemExit(f"{id} was not found by its own {view} view: {own[0][0]}")
    gone = [(id, text) for choice in choices for id, text in choice.items() if found.get(id) != text]
    for id, text in rng.sample(gone, min(5, len(gone))):
        hits = collection.search(vectors_of([text])[0], 3, EXACT).documents if found else []
        if any((document.id, document.text) == (id, text) for document, _ in hits):
            raise SystemExit(f"{id} was found, although it was not committed")
    if len(collection.search(vectors_of(["x"])[0], len(found) or 1, EXACT).documents) != len(found):
        raise SystemExit("a search for everything did not find everything")
    with collection.writing():
        pass  # opening a writer removes what killed writers left
    left = {path.name for path in folder.iterdir() if path.name.startswith(("codec-", "segment-"))}
    state = collection.snapshot().state
    if left != state.folders:
        raise SystemExit(f"left over: {sorted(left - state.folders)}")
    collection.close()
    return found


def main(folder: Path, mode: str, faults: int, seed: int) -> None:
    rng = random.Random(seed)
    Collection.create(folder, ALL_VIEWS, {}).close()
    contents: Contents = {}
    length = Counter(dict.fromkeys(("add", "update", "delete", "compact", "settle"), 120))
    outcomes: Counter[str] = Counter()
    number = 0
    while outcomes["faults"] < faults:
        number += 1
        operation = Operation(rng, contents, number)
        at = rng.randint(1, 3 * length[operation.kind] // 2)
        code, count = in_child(lambda operation=operation: operation.run(folder), at, mode)
        if code == 0:  # it ended before the fault
            length[operation.kind] = max(10, count)
            if verify(folder, [operation.after], rng) != operation.after:
                raise SystemExit("what was committed is not there")
            contents = operation.after
            outcomes["operations that ended first"] += 1
            continue
        if code != (-signal.SIGKILL if mode == "k" else REPORTED):
            raise SystemExit(f"{operation.kind} ended with {code}")
        before = contents
        try:
            contents = verify(folder, [before, operation.after], rng)
        except AsterismError as error:
            raise SystemExit(f"after a fault in {operation.kind}: {error!r}") from error
        outcomes["faults"] += 1
        outcomes[f"in {operation.kind}"] += 1
        if before != operation.after:
            outcomes["kept the old state" if contents == before else "had the new state"] += 1
    print(", ".join(f"{name} {count}" for name, count in sorted(outcomes.items())), f"documents {len(contents)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
