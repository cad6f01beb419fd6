"""A first look at the engine, on vectors made here: build an index, search it, see what each stage took.

python examples/own_vectors.py [--documents 20000]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from asterism import TokenIndex, TokenSearch, TokenVectors

DIMENSIONS = 128
WORDS = 5_000


def make_corpus(documents: int, rng: np.random.Generator) -> TokenVectors:
    """Documents of 20 to 120 "words", each a vector that varies a little with its context, as token vectors do."""
    words = rng.normal(size=(WORDS, DIMENSIONS)).astype(np.float32)
    lengths = rng.integers(20, 121, documents)
    chosen = (WORDS * rng.random(lengths.sum()) ** 3).astype(int)  # few words are common, most are rare
    flat = words[chosen] + 0.6 * rng.normal(size=(lengths.sum(), DIMENSIONS)).astype(np.float32)
    flat /= np.linalg.norm(flat, axis=1, keepdims=True)
    return TokenVectors(flat.astype(np.float32), np.concatenate([[0], np.cumsum(lengths)]))


def main() -> None:
    """Build, search, compare with exact search."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=20_000)
    documents = parser.parse_args().documents
    rng = np.random.default_rng(7)
    vectors = make_corpus(documents, rng)
    print(f"{len(vectors):,} documents, {len(vectors.flat):,} vectors of {DIMENSIONS} dimensions")

    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        index = TokenIndex.build(Path(folder) / "demo.tokens", vectors, bits=4)
        seconds = time.perf_counter() - begin
        print(
            f"built in {seconds:.1f} s: {index.bytes / index.tokens:.0f} bytes a vector, {index.centroids:,} centroids"
        )

        wanted = int(rng.integers(documents))
        passage = vectors[wanted]
        query = passage[rng.choice(len(passage), 12, replace=False)]
        query = (query + 0.05 * rng.normal(size=query.shape)).astype(np.float32)
        hits = index.search(query, k=5)
        print(f"\nsearch for 12 noisy vectors of document {wanted}: {1000 * sum(hits.timings.values()):.1f} ms")
        print("  " + ", ".join(f"{stage} {1000 * seconds:.2f}" for stage, seconds in hits.timings.items()))
        exact = index.search(query, k=5, settings=TokenSearch(method="exact"))
        print(
            f"exact search: {1000 * sum(exact.timings.values()):.1f} ms\n\n rank  document  score   exact search says"
        )
        for rank, (document, score, truth) in enumerate(zip(hits.ids, hits.scores, exact.ids, strict=True), 1):
            print(f"{rank:5}  {document:8}  {score:.3f}   {truth}{'   <- the one' if document == wanted else ''}")
    print("\nTry: index.search(query, settings=TokenSearch(method='xtr')), or your own vectors (README.md).")


if __name__ == "__main__":
    main()
