"""Ours and the published engines on the same token vectors, in one run: build, size, memory, latency, recall.

    make bench-token-search        (or: python benchmarks/token_search.py --data ../shared/data --work .bench)

Needs the environments that benchmarks/peers/setup.sh makes under WORK/envs. Makes the vectors and the exact answers
once and keeps them; builds and searches every engine in processes of their own; prints and writes WORK/token_search.md,
.json and .png. Engines called "…-shared" get the vectors of benchmarks/shared_direction.py, which share a direction.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from shared_direction import make_shared

HERE = Path(__file__).parent
ENGINES = {  # name -> (environment, script, further arguments)
    "asterism-4": ("asterism", "run_asterism.py", ["--variant", "4-bit"]),
    "asterism-2": ("asterism", "run_asterism.py", ["--variant", "2-bit"]),
    "asterism-fine": ("asterism", "run_asterism.py", ["--variant", "4-bit+float16"]),
    "asterism-4-shared": ("asterism", "run_asterism.py", ["--variant", "4-bit"]),
    "asterism-2-shared": ("asterism", "run_asterism.py", ["--variant", "2-bit"]),
    "asterism-q2": ("asterism", "run_asterism.py", ["--variant", "2-bit quantile levels"]),
    "asterism-q4": ("asterism", "run_asterism.py", ["--variant", "4-bit quantile levels"]),
    "tachiom": ("tachiom", "peers/run_tachiom.py", []),
    "xtr-warp-rs": ("plaid", "peers/run_xtr_warp.py", []),
    "fast-plaid": ("plaid", "peers/run_fast_plaid.py", []),
    "colbert-ai": ("colbert", "peers/run_colbert_plaid.py", []),
    "lancedb": ("lance", "peers/run_lancedb_multivector.py", []),
    "pylate": ("pylate", "peers/run_pylate_index.py", []),
}
SHARED = "shared direction"


def exact_answers(folder: Path, count: int = 100) -> np.ndarray:
    """(queries, count) the documents with the highest MaxSim, by plain matrix products; kept in truth.npy."""
    kept = folder / "truth.npy"
    if kept.exists():
        return np.load(kept)
    flat = np.load(folder / "documents.npy", mmap_mode="r")
    offsets = np.load(folder / "document_offsets.npy")
    queries, starts = np.load(folder / "queries.npy"), np.load(folder / "query_offsets.npy")
    scores = np.empty((len(starts) - 1, len(offsets) - 1), np.float32)
    for first in range(0, len(offsets) - 1, 500):
        last = min(first + 500, len(offsets) - 1)
        rows = np.asarray(flat[offsets[first] : offsets[last]], np.float32)
        best = np.maximum.reduceat(rows @ queries.T, offsets[first:last] - offsets[first], axis=0)
        scores[:, first:last] = np.add.reduceat(best, starts[:-1], axis=1).T
    answers = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    np.save(kept, answers)
    return answers


def recall(found: list[list[int]], truth: np.ndarray, k: int) -> float:
    """Of the queries that were measured, the first ones."""
    pairs = zip(found, truth[: len(found)].tolist(), strict=True)
    return float(np.mean([len(set(row[:k]) & set(exact[:k])) / k for row, exact in pairs]))


def run_engine(name: str, options: argparse.Namespace, threads: int) -> dict[str, Any]:
    environment, script, further = ENGINES[name]
    shared = name.endswith("-shared")
    vectors = make_shared(options.vectors) if shared else options.vectors
    truth = exact_answers(vectors)
    out = options.work / "results" / f"{name}-{threads}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    if not (options.keep and out.exists()):
        command = [str(options.work / "envs" / environment / "bin" / "python"), str(HERE / script), *further]
        command += [
            "--vectors",
            str(vectors),
            "--work",
            str(options.work / "indexes" / name),
            "--out",
            str(out),
        ]
        command += ["--threads", str(threads), "--ks", ",".join(map(str, options.ks))]
        if threads > 1:
            command.append("--search-only")
        out.unlink(missing_ok=True)
        begin = time.time()
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
        print(f"{name}, {threads} thread(s): {time.time() - begin:.0f} s", file=sys.stderr)
    result = json.loads(out.read_text()) if out.exists() else {"engine": name, "error": "its process left no result"}
    if shared:
        result["engine"] += f", {SHARED}"
    for point in result.get("points", []):
        point["recall@10"] = recall(point["ids"], truth, 10)
        point["recall@100"] = recall(point["ids"], truth, 100) if point["k"] >= 100 else None
        point["short"] = sum(len({i for i in row if i >= 0}) < point["k"] for row in point["ids"])
    return result


def ours_at(points: list[dict[str, Any]], peer: dict[str, Any], truth: np.ndarray) -> dict[str, Any] | None:
    """Our fastest point with the same k and, on the queries the peer was measured on, at least its recalls."""
    measured = len(peer["ids"])

    def as_good(point: dict[str, Any], depth: int) -> bool:
        return recall(point["ids"][:measured], truth, depth) >= recall(peer["ids"], truth, depth)

    same = [point for point in points if point["k"] == peer["k"] and len(point["ids"]) >= measured]
    enough = [p for p in same if as_good(p, 10) and (peer["recall@100"] is None or as_good(p, 100))]
    return min(enough, key=lambda point: point["ms_mean"], default=None)


def report(results: dict[int, list[dict[str, Any]]], vectors: int, truth: np.ndarray) -> str:
    lines = ["| engine | build s | bytes a vector | peak RSS MB | built with |", "|---|---|---|---|---|"]
    for result in next(iter(results.values())):
        if "error" in result:
            lines.append(f"| {result['engine']} | {result['error']} | | | |")
            continue
        built = ", ".join(f"{key} {value}" for key, value in result["build_settings"].items() if value is not True)
        size = result["index_bytes"] / vectors
        lines.append(
            f"| {result['engine']} {result['version']} | {result['build_seconds']:.1f} | {size:.1f} "
            f"| {result['build_peak_rss_mb']:.0f} | {built} |"
        )
    for threads, group in results.items():
        working = [result for result in group if "error" not in result]
        own = [r for r in working if r["engine"].startswith("asterism") and SHARED not in r["engine"]]
        ours = [point for result in own for point in result["points"]]
        lines += ["", f"### {threads} thread{'s' if threads > 1 else ''}, one query at a time", ""]
        lines += ["| engine | k | point | recall@10 | recall@100 | ms | ours at that recall or more | times faster |"]
        lines += ["|---|---|---|---|---|---|---|---|"]
        for result in working:
            for point in result["points"]:
                peer = not result["engine"].startswith("asterism")
                match = ours_at(ours, point, truth) if peer else None
                faster = f"{match['ms_mean']:.2f} ms | {point['ms_mean'] / match['ms_mean']:.1f}" if match else " | "
                deep = "" if point["recall@100"] is None else f"{point['recall@100']:.3f}"
                note = f" ({point['short']} queries short of k)" if point["short"] else ""
                note += f" (first {len(point['ids'])} queries)" if len(point["ids"]) < len(truth) else ""
                lines.append(
                    f"| {result['engine']} | {point['k']} | {point['label']}{note} | {point['recall@10']:.3f} | {deep} "
                    f"| {point['ms_mean']:.2f} | {faster} |"
                )
    return "\n".join(lines) + "\n"


def plot(results: list[dict[str, Any]], path: Path, k: int) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 5))
    for result in results:
        points = [
            p
            for p in result.get("points", [])
            if p["k"] == k and "xtr" not in p["label"] and "ceiling" not in p["label"]
        ]
        points.sort(key=lambda p: p["ms_mean"])
        if points and "quantile" not in result["engine"] and SHARED not in result["engine"]:
            style = "-o" if result["engine"].startswith("asterism") else "--s"
            axes.plot([p["ms_mean"] for p in points], [p["recall@10"] for p in points], style, label=result["engine"])
    axes.set(xscale="log", xlabel="milliseconds a query, one thread", ylabel="recall@10 against exact MaxSim")
    axes.set_title(f"2 million token vectors, k = {k}")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--work", type=Path, default=Path(".bench"))
    parser.add_argument("--vectors", type=Path, help="vectors made before (default: WORK/vectors, made if missing)")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--ks", type=lambda text: [int(k) for k in text.split(",")], default=[10, 100])
    parser.add_argument("--threads", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2])
    parser.add_argument("--keep", action="store_true", help="use the results of an earlier run where there are any")
    options = parser.parse_args()
    options.vectors = options.vectors or options.work / "vectors"
    if not (options.vectors / "query_offsets.npy").exists():
        encode = [str(options.work / "envs" / "encode" / "bin" / "python"), str(HERE / "token_vectors.py")]
        subprocess.run([*encode, "--data", str(options.data), "--to", str(options.vectors)], check=True)
    truth = exact_answers(options.vectors)
    offsets = np.load(options.vectors / "document_offsets.npy")
    lengths = np.mean([b - a for a, b in pairwise(np.load(options.vectors / "query_offsets.npy"))])
    names = options.engines.split(",")
    runs = [[run_engine(name, options, threads) for threads in options.threads] for name in names]
    results = dict(zip(options.threads, map(list, zip(*runs, strict=True)), strict=True))
    head = (
        f"{offsets[-1]:,} vectors, {len(offsets) - 1:,} documents, {len(truth)} questions of {lengths:.1f} vectors\n\n"
    )
    text = head + report(results, int(offsets[-1]), truth)
    print(text)
    (options.work / "token_search.md").write_text(text)
    for point in (point for group in results.values() for result in group for point in result.get("points", [])):
        point.pop("ids")
    (options.work / "token_search.json").write_text(json.dumps(results, indent=1))
    plot(results[options.threads[0]], options.work / "token_search.png", options.ks[-1])


if __name__ == "__main__":
    main()
