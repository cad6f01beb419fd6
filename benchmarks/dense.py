"""Dense search against bare faiss with the same settings: recall@10 and time, through adds, deletes and filters.

    python benchmarks/dense.py --data ../shared/data --work .bench

One thread, one query at a time. Both run in turn within the same loop, and of each query the best of several rounds
counts, in CPU time: what else the machine does matters little. Recall is against brute force over the stored vectors;
a document that scores as much as the tenth is as good as the tenth.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from dense_vectors import dense_vectors

from asterism import Collection, Document, Representations, SearchHits, Views
from asterism.collection.snapshot import Snapshot
from asterism.views.dense.eligible_rows import compares_all, explored
from asterism.views.dense.segment import EXPLORED_TO_BUILD, LINKS

K = 10
FLAT = 45_000
ROUNDS = 5
TIED = 1e-5
FILTERS = {"all": None, "50 %": {"n": {"$lt": 50}}, "10 %": {"n": {"$lt": 10}}, "1 %": {"n": 0}}
COLUMNS = ["index", "counts", "recall", "ms", "faiss recall", "faiss ms", "ratio", "first s", "with documents ms"]

Search = Callable[[np.ndarray], np.ndarray]


@dataclass
class Bare:
    """A faiss index and the place of its first document among all."""

    index: Any
    first: int = 0

    def search(self, mask: np.ndarray) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """With what ours would choose for documents (all,) that count; nothing is made while it is timed."""
        counts = mask[self.first : self.first + self.index.ntotal]
        bits = np.packbits(counts, bitorder="little")
        chosen = None if counts.all() else faiss.IDSelectorBitmap(bits)
        index, params = self.index, faiss.SearchParameters(sel=chosen)
        if isinstance(index, faiss.IndexHNSW):
            if compares_all(K, counts.sum(), len(counts)):
                index = faiss.downcast_index(index.storage)
            else:
                params = faiss.SearchParametersHNSW(efSearch=explored(K, int(counts.sum()), len(counts)), sel=chosen)
        return lambda row: index.search(row, K, params=params)


def bare_search(parts: list[Bare], mask: np.ndarray) -> Search:
    """Of one index what it finds, of several the best of what they find."""
    searches = [part.search(mask) for part in parts]
    if len(parts) == 1:
        return lambda row: searches[0](row)[1][0]

    def search(row: np.ndarray) -> np.ndarray:
        found = [search(row) for search in searches]
        scores = np.concatenate([scores[0] for scores, _ in found])
        ids = np.concatenate([ids[0] + part.first for (_, ids), part in zip(found, parts, strict=True)])
        return ids[np.argsort(-scores)[:K]]

    return search


def seconds(searches: list[Search], queries: np.ndarray) -> tuple[list[float], list[np.ndarray]]:
    """CPU seconds a query and ids (n, up to K) of each search."""
    best = np.full((len(searches), len(queries)), np.inf)
    found: list[list[np.ndarray]] = [[] for _ in searches]
    for turn in range(ROUNDS):
        for i in range(len(queries)):
            for j in range(len(searches))[:: -1 if turn % 2 else 1]:
                begin = time.thread_time()
                ids = searches[j](queries[i : i + 1])
                best[j, i] = min(best[j, i], time.thread_time() - begin)
                if turn == 0:
                    found[j].append(ids)
    return best.mean(axis=1).tolist(), found


def recall(found: list[np.ndarray], truth: np.ndarray) -> float:
    """Truth (n, documents), -inf for those that do not count."""
    least = np.partition(truth, -K, axis=1)[:, -K] - TIED
    hits = [(truth[i, ids[ids >= 0]] >= least[i]).sum() / K for i, ids in enumerate(found)]
    return float(np.mean(hits))


def state_of(collection: Collection, where: Any) -> tuple[Snapshot, np.ndarray | None]:
    """What a search with a filter is given."""
    seen = []

    def search(state: Snapshot, eligible: np.ndarray | None) -> SearchHits:
        seen.append((state, eligible))
        return SearchHits.none(1)

    collection.find(search, where)
    return seen[0]


def our_search(state: Snapshot, eligible: np.ndarray | None) -> Search:
    return lambda row: state.dense.search(row, K, eligible).ids[0]


def search_with_documents(collection: Collection, where: Any) -> Search:
    """As a user has it: the newest state, the filter, the documents themselves."""

    def search(row: np.ndarray) -> np.ndarray:
        collection.find(lambda state, eligible: state.dense.search(row, K, eligible), where)
        return np.empty(0, np.int64)

    return search


def measure(name: str, collection: Collection, parts: list[Bare], stored: np.ndarray, queries: np.ndarray) -> None:
    """A row for each filter."""
    scores = queries @ stored.T
    for label, where in FILTERS.items():
        begin = time.perf_counter()
        state, eligible = state_of(collection, where)
        search = our_search(state, eligible)
        search(queries[:1])
        first = time.perf_counter() - begin
        mask = np.ones(len(stored), bool) if eligible is None else eligible
        truth = np.where(mask, scores, -np.inf)
        (ours, bare), found = seconds([search, bare_search(parts, mask)], queries)
        (whole,), _ = seconds([search_with_documents(collection, where)], queries)
        figures = [f"{recall(found[0], truth):.4f}", f"{1e3 * ours:.3f}", f"{recall(found[1], truth):.4f}"]
        figures += [f"{1e3 * bare:.3f}", f"{ours / bare:.2f}", f"{first:.2f}", f"{1e3 * whole:.2f}"]
        print("| " + " | ".join([name, label, *figures]) + " |", flush=True)


def put(collection: Collection, rows: np.ndarray, first: int) -> None:
    """Documents with a number below 100 each, for filters."""
    numbers = np.random.default_rng(first).integers(100, size=len(rows)).tolist()
    documents = [Document(str(first + i), "text", metadata={"n": n}) for i, n in enumerate(numbers)]
    with collection.writing() as writer:
        writer.add(documents, Representations(len(rows), rows))


def built(path: Path, rows: np.ndarray) -> Path:
    """A collection of these rows, kept for the next run."""
    if not path.exists():
        making = path.with_suffix(".making")
        shutil.rmtree(making, ignore_errors=True)
        collection = Collection.create(making, Views(dense=True), {})
        put(collection, rows, 0)
        collection.close()
        making.rename(path)
    return path


def bare_flat(rows: np.ndarray) -> Any:
    index = faiss.IndexScalarQuantizer(rows.shape[1], faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
    index.add(rows)
    return index


def bare_graph(path: Path, rows: np.ndarray) -> Any:
    """Faiss's own, kept for the next run."""
    if not path.exists():
        index = faiss.IndexHNSWSQ(rows.shape[1], faiss.ScalarQuantizer.QT_fp16, LINKS, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = EXPLORED_TO_BUILD
        index.add(rows)
        faiss.write_index(index, str(path))
    return faiss.read_index(str(path))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--work", type=Path, default=Path(".bench"))
    parser.add_argument("--queries", type=int, default=300)
    options = parser.parse_args()
    work = options.work / "dense"
    vectors = dense_vectors(options.data, work)
    queries = vectors.queries[: options.queries]
    everything = np.concatenate([vectors.documents, vectors.more])
    stored = everything.astype(np.float16).astype(np.float32)
    many = len(vectors.documents)
    settings = f"{LINKS}-{EXPLORED_TO_BUILD}"
    flat = built(work / "flat.ast", vectors.documents[:FLAT])
    graph = built(work / f"graph-{settings}.ast", vectors.documents)
    bare = Bare(bare_graph(work / f"graph-{settings}.faiss", vectors.documents))
    faiss.omp_set_num_threads(1)
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|")
    measure("flat", Collection.open(flat), [Bare(bare_flat(vectors.documents[:FLAT]))], stored[:FLAT], queries)
    with tempfile.TemporaryDirectory(dir=work) as folder:
        collection = Collection.open(shutil.copytree(graph, Path(folder) / "copy.ast"))
        measure("graph", collection, [bare], stored[:many], queries)
        put(collection, vectors.more, many)
        both = [bare, Bare(bare_flat(vectors.more), many)]
        measure("graph, more added", collection, both, stored, queries)
        one = faiss.clone_index(bare.index)
        one.add(vectors.more)
        measure("graph, more added; faiss in one graph", collection, [Bare(one)], stored, queries)
        gone = np.random.default_rng(1).choice(len(stored), len(stored) // 10, replace=False)
        with collection.writing() as writer:
            writer.delete([str(i) for i in gone])
        measure("graph, more added, 10 % deleted", collection, both, stored, queries)
        collection.close()


if __name__ == "__main__":
    main()
