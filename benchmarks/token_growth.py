"""How build, memory and latency at fixed recall grow with the corpus.

    python benchmarks/token_growth.py --vectors .bench/vectors --work .bench [--sizes 250000,...,20000000]

Smaller corpora are the first documents of the benchmark's; larger ones repeat its documents, each copy with noise of
its own on every vector. Builds run in a process of their own that reads the vectors chunk by chunk from a file, so that
its peak memory is the engine's. Recall is also measured on vectors that share a direction, in an index of their own.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from shared_direction import add_offset, choose_offset

from asterism import TokenIndex, TokenSearch, TokenVectors

NOISE = (
    0.05  # standard deviation a coordinate; a vector's length is 1, so a copy's cosine with its source is about 0.87
)
CHUNK_DOCUMENTS = 1000
QUESTIONS = 100
RECALL = 0.95
SWEEP = [
    TokenSearch(probes=probes, candidates=candidates, refine=candidates // 2, confidence=confidence)
    for probes, candidates in ((4, 512), (8, 1024), (16, 2048), (32, 4096))
    for confidence in (1.5, 2.0, 2.5, 3.0, 4.0)
]


class FileChunks:
    """TokenVectors read from two files, as often as asked, a chunk at a time; `offset` (d,) is added to all."""

    def __init__(self, folder: Path, offset: np.ndarray | None = None) -> None:
        self.offsets = np.load(folder / "offsets.npy")
        self.flat = folder / "flat.f16"
        self.offset = offset

    def __iter__(self) -> Iterator[TokenVectors]:
        for first in range(0, len(self.offsets) - 1, CHUNK_DOCUMENTS):
            cut = self.offsets[first : first + CHUNK_DOCUMENTS + 1]
            count, skip = int(cut[-1] - cut[0]) * 128, int(cut[0]) * 256
            rows = np.fromfile(self.flat, np.float16, count, offset=skip).reshape(-1, 128)
            if self.offset is not None:
                rows = add_offset(rows, self.offset).astype(np.float16)
            yield TokenVectors(rows, cut - cut[0])


def make_corpus(vectors: Path, folder: Path, size: int) -> None:
    """The first `size` vectors, or all of them again and again with noise."""
    if (folder / "offsets.npy").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    flat = np.load(vectors / "documents.npy", mmap_mode="r")
    source = np.load(vectors / "document_offsets.npy")
    rng = np.random.default_rng(size)
    lengths: list[int] = []
    total, copy = 0, 0
    with open(folder / "flat.f16", "wb") as file:
        while total < size:
            for first in range(0, len(source) - 1, CHUNK_DOCUMENTS):
                cut = source[first : first + CHUNK_DOCUMENTS + 1]
                fits = int(np.searchsorted(cut - cut[0], size - total, side="left"))
                cut = cut[: max(1, min(fits, len(cut) - 1)) + 1]
                rows = np.asarray(flat[cut[0] : cut[-1]], np.float32)
                if copy:
                    rows += NOISE * rng.standard_normal(rows.shape, np.float32)
                    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
                rows.astype(np.float16).tofile(file)
                lengths += np.diff(cut).tolist()
                total += len(rows)
                if total >= size:
                    break
            copy += 1
    np.save(folder / "offsets.npy", np.concatenate([[0], np.cumsum(lengths)]))


def exact_answers(chunks: FileChunks, folder: Path, queries: np.ndarray, starts: np.ndarray) -> np.ndarray:
    kept = folder / ("truth.npy" if chunks.offset is None else "truth-shared.npy")
    if kept.exists():
        return np.load(kept)
    parts = []
    for chunk in chunks:
        similarities = chunk.flat.astype(np.float32) @ queries.T
        best = np.maximum.reduceat(similarities, chunk.offsets[:-1], axis=0)
        parts.append(np.add.reduceat(best, starts[:-1], axis=1).T)
    answers = np.argsort(-np.concatenate(parts, axis=1), axis=1, kind="stable")[:, :10]
    np.save(kept, answers)
    return answers


def measure_shared(chunks: FileChunks, folder: Path, queries: np.ndarray, starts: np.ndarray) -> float:
    """recall@10 with default settings on vectors and queries that share a direction."""
    offset = choose_offset(np.concatenate([chunk.flat[::16] for chunk in itertools.islice(chunks, 10)]))
    moved, target = FileChunks(folder, offset), folder / "shared.tokens"
    asked = add_offset(queries, offset)
    truth = exact_answers(moved, folder, asked, starts)
    shutil.rmtree(target, ignore_errors=True)
    index = TokenIndex.build(target, moved, bits=4)
    return default_point(index, [asked[a:b] for a, b in itertools.pairwise(starts)], truth)["recall"]


def build(folder: Path) -> dict[str, float]:
    """In a process of its own: seconds and peak memory."""
    target = folder / "x.tokens"
    shutil.rmtree(target, ignore_errors=True)
    begin = time.perf_counter()
    index = TokenIndex.build(target, FileChunks(folder), bits=4)
    seconds = time.perf_counter() - begin
    size = index.bytes / index.tokens
    return {"seconds": seconds, "rss_mb": peak_rss_mb(), "bytes": size, "centroids": index.centroids}


def peak_rss_mb() -> float:
    """Of this program: unlike getrusage's, the kernel's VmHWM begins anew with it."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def at_recall(index: TokenIndex, queries: list[np.ndarray], truth: np.ndarray) -> dict[str, float | str]:
    """The fastest of the sweep that reaches RECALL, the better of two runs each."""
    best: dict[str, float | str] = {}
    for settings in SWEEP:
        milliseconds = []
        for _ in range(2):
            begin = time.perf_counter()
            found = [index.search(query, 10, settings).ids for query in queries]
            milliseconds.append(1000 * (time.perf_counter() - begin) / len(queries))
        recall = np.mean([len(set(row) & set(exact)) / 10 for row, exact in zip(found, truth, strict=True)])
        if recall >= RECALL and min(milliseconds) < float(best.get("ms", np.inf)):
            point = f"probes {settings.probes}, candidates {settings.candidates}, confidence {settings.confidence}"
            best = {"ms": min(milliseconds), "recall": float(recall), "settings": point}
    return best


def default_point(index: TokenIndex, queries: list[np.ndarray], truth: np.ndarray) -> dict[str, float]:
    begin = time.perf_counter()
    found = [index.search(query, 10).ids for query in queries]
    milliseconds = 1000 * (time.perf_counter() - begin) / len(queries)
    recall = np.mean([len(set(row) & set(exact)) / 10 for row, exact in zip(found, truth, strict=True)])
    return {"ms": milliseconds, "recall": float(recall)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=Path, default=Path(".bench/vectors"))
    parser.add_argument("--work", type=Path, default=Path(".bench"))
    parser.add_argument("--sizes", default="250000,500000,1000000,2000000,20000000")
    parser.add_argument("--build", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.build:
        print(json.dumps(build(options.build)))
        return
    starts = np.load(options.vectors / "query_offsets.npy")[: QUESTIONS + 1]
    flat = np.load(options.vectors / "queries.npy")[: starts[-1]]
    queries = [flat[a:b] for a, b in itertools.pairwise(starts)]
    columns = [
        "vectors",
        "documents",
        "build s",
        "peak RSS MB",
        "bytes a vector",
        "centroids",
        "default: ms, recall@10",
        "shared direction: recall@10",
    ]
    print("| " + " | ".join([*columns, f"fastest with recall@10 ≥ {RECALL}"]) + " |\n" + "|---" * 9 + "|")
    for size in map(int, options.sizes.split(",")):
        folder = options.work / "growth" / str(size)
        make_corpus(options.vectors, folder, size)
        chunks = FileChunks(folder)
        truth = exact_answers(chunks, folder, flat, starts)
        shared = measure_shared(chunks, folder, flat, starts)
        command = [sys.executable, __file__, "--build", str(folder)]
        facts = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        index = TokenIndex.open(folder / "x.tokens")
        at_recall(index, queries[:20], truth[:20])  # warm up
        usual = default_point(index, queries, truth)
        best = at_recall(index, queries, truth)
        cells = [f"{index.tokens:,}", f"{len(index):,}", f"{facts['seconds']:.1f}", f"{facts['rss_mb']:.0f}"]
        cells += [f"{facts['bytes']:.1f}", f"{facts['centroids']:,}", f"{usual['ms']:.2f}, {usual['recall']:.3f}"]
        cells += [f"{shared:.3f}"]
        cells += [f"{best['ms']:.2f} ms ({best['recall']:.3f}; {best['settings']})" if best else "none of the sweep"]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
