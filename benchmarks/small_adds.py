"""What adding one document costs, and whether that depends on how many there are; what scoring given documents costs.

python benchmarks/small_adds.py [--documents 2000 200000] [--adds 60]

Short documents in all three views, made from a seed; encoding is not part of it. Each size is measured in turn, and the
ratio of the medians is printed. Then 400 documents are scored by token vectors, and the same are refined in a search.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from asterism import Collection, Document, LexicalWeights, Representations, TokenBuild, TokenSearch, TokenVectors, Views

DIMENSIONS, TOKENS, TERMS = 128, 8, 6
BATCH = 5_000
GIVEN = 400


def make_batch(rng: np.random.Generator, documents: int) -> Representations:
    """Random unit vectors and terms."""
    flat = rng.normal(size=(documents * TOKENS, DIMENSIONS)).astype(np.float32)
    flat /= np.linalg.norm(flat, axis=1, keepdims=True)
    terms = np.sort(rng.choice(50_000, (documents, TERMS)) + np.arange(TERMS) * 50_000, axis=1)
    lexical = LexicalWeights(np.arange(documents + 1) * TERMS, terms.ravel(), np.ones(documents * TERMS, np.float32))
    vectors = TokenVectors(flat, np.arange(documents + 1) * TOKENS)
    return Representations(documents, flat[::TOKENS], lexical, vectors)


def build(folder: Path, documents: int) -> Collection:
    """An index of so many documents, settled."""
    rng = np.random.default_rng(documents)
    collection = Collection.create(folder, Views(TokenBuild(), True, "words"), {})
    with collection.writing() as writer:
        for first in range(0, documents, BATCH):
            count = min(BATCH, documents - first)
            writer.add([Document(f"{first + i}", f"text {i}") for i in range(count)], make_batch(rng, count))
        writer.settle()
        writer.compact()
    return collection


def add_one(collection: Collection, number: int) -> float:
    """Seconds."""
    content = make_batch(np.random.default_rng(number), 1)
    begin = time.perf_counter()
    with collection.writing() as writer:
        writer.add([Document(f"new-{number}", "one more")], content)
        writer.settle()
    return time.perf_counter() - begin


def compare_scores(collection: Collection) -> tuple[float, float]:
    """Milliseconds a query: 400 given documents scored, and the refine stage of a search that refines 400."""
    searcher = collection.snapshot().multi
    rng = np.random.default_rng(5)
    refining = searcher.with_settings(TokenSearch(candidates=1024, refine=GIVEN, confidence=float("inf")))
    given, refined = [], []
    for _ in range(200):
        query = rng.normal(size=(16, DIMENSIONS)).astype(np.float32)
        query /= np.linalg.norm(query, axis=1, keepdims=True)
        queries = searcher.gather([query])
        found = refining.search(queries, GIVEN)
        refined.append(found.timings["refine"])
        documents = np.sort(found.ids[0])
        begin = time.perf_counter()
        scores = searcher.scores(queries[0], documents)
        given.append(time.perf_counter() - begin)
        if not np.array_equal(scores[np.searchsorted(documents, found.ids[0])], found.scores[0]):
            raise SystemExit("given documents have other scores than in a search")
    return 1e3 * float(np.median(given)), 1e3 * float(np.median(refined))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, nargs=2, default=[2_000, 200_000])
    parser.add_argument("--adds", type=int, default=60)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        collections = [build(Path(folder) / f"{documents}.ast", documents) for documents in asked.documents]
        times: list[list[float]] = [[], []]
        for number in range(asked.adds):
            for collection, row in zip(collections, times, strict=True):
                row.append(add_one(collection, number))
        small, large = (1e3 * float(np.median(row)) for row in times)
        for documents, row in zip(asked.documents, times, strict=True):
            middle, most = 1e3 * float(np.median(row)), 1e3 * max(row)
            print(f"{documents:>9,} documents: one more takes {middle:.1f} ms (median), {most:.1f} ms at most")
        print(f"ratio {large / small:.2f}")
        scored, refined = compare_scores(collections[1])
        print(f"{GIVEN} given documents scored in {scored:.2f} ms, refined in a search in {refined:.2f} ms")


if __name__ == "__main__":
    main()
