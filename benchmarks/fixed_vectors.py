"""What a fixed number of vectors a document saves: the benchmark's documents as they are, and pooled to 32 each.

    python benchmarks/fixed_vectors.py --vectors .bench/vectors --work .bench

Pooling here is the plainest there is (means of 32 equal stretches of a document); it stands in for a trained pooling,
and recall is measured against exact search of the same codes: what the search stages lose.
"""

from __future__ import annotations

import argparse
import shutil
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

from asterism import TokenIndex, TokenSearch, TokenVectors

VECTORS = 32


def pooled(vectors: TokenVectors) -> TokenVectors:
    """(documents · 32, d): means of 32 stretches; a shorter document repeats its vectors."""
    flat = np.empty((len(vectors) * VECTORS, vectors.dimensions), np.float32)
    for i in range(len(vectors)):
        rows = np.asarray(vectors[i], np.float32)
        if len(rows) < VECTORS:
            rows = rows[np.arange(VECTORS) * max(len(rows), 1) // VECTORS]
        cuts = np.arange(VECTORS) * len(rows) // VECTORS
        flat[i * VECTORS : (i + 1) * VECTORS] = np.add.reduceat(rows, cuts, axis=0)
    flat /= np.linalg.norm(flat, axis=1, keepdims=True)
    return TokenVectors(flat.astype(np.float16), np.arange(len(vectors) + 1) * VECTORS)


def measure(index: TokenIndex, queries: list[np.ndarray]) -> tuple[float, float]:
    """Milliseconds (the best of three runs) and recall@10 against exact search of the same codes."""
    exact = index.search_many(queries, 10, TokenSearch(method="exact"), threads=2).ids
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        found = [index.search(query, 10).ids for query in queries]
        seconds.append(time.perf_counter() - begin)
    recall = np.mean([len(set(row) & set(truth)) / 10 for row, truth in zip(found, exact, strict=True)])
    return 1000 * min(seconds) / len(queries), float(recall)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=Path, default=Path(".bench/vectors"))
    parser.add_argument("--work", type=Path, default=Path(".bench"))
    options = parser.parse_args()
    flat = np.load(options.vectors / "documents.npy", mmap_mode="r")
    offsets = np.load(options.vectors / "document_offsets.npy")
    as_they_are = TokenVectors(flat, offsets)
    rows = np.load(options.vectors / "queries.npy")
    queries = [rows[a:b] for a, b in pairwise(np.load(options.vectors / "query_offsets.npy"))]
    columns = ["documents", "vectors", "index MB", "build s", "ms, one thread", "recall@10 against the codec"]
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")
    figures = []
    for name, vectors, fixed in (("as they are", as_they_are, 0), ("fixed=32", pooled(as_they_are), VECTORS)):
        target = options.work / "fixed" / str(fixed)
        shutil.rmtree(target, ignore_errors=True)
        begin = time.perf_counter()
        index = TokenIndex.build(target, vectors, bits=4, fixed=fixed)
        seconds = time.perf_counter() - begin
        milliseconds, recall = measure(index, queries)
        figures.append((index.bytes, milliseconds))
        size = f"{index.bytes / 1e6:.1f}"
        print(f"| {name} | {index.tokens:,} | {size} | {seconds:.1f} | {milliseconds:.2f} | {recall:.3f} |", flush=True)
    (size, slow), (small, fast) = figures
    print(f"\nfixed=32: {size / small:.1f} times smaller, {slow / fast:.1f} times faster")


if __name__ == "__main__":
    main()
