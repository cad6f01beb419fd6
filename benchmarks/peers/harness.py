"""What all peer runners share: arguments, data, child processes, the timing loop and the JSON.

A runner subclasses `Engine` and ends with `main(MyEngine())`. Its script then runs three times: the caller's process
only starts the other two and writes the result; one child builds the index (so that its peak memory is its own), one
child searches it. Thread counts come from environment variables that are set before the children start, because the
libraries read them when they are imported.

    VENV/bin/python benchmarks/peers/run_X.py --vectors DIR --work DIR --out result.json
        [--threads 1] [--build-threads 2] [--ks 10,100] [--centroids 4096] [--search-only] [--variant NAME]
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

WARM_UP = 20
# A slow point is measured on fewer queries, so that the whole benchmark ends within an hour or so.
SECONDS_A_POINT = 10.0
FEWEST = 50
CENTROIDS = 4096

# Every thread pool that one of the engines brings along.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "TOKIO_WORKER_THREADS",
    "LANCE_CPU_THREADS",
)
# No GPU, and no waiting for a model hub that may not be there.
FIXED_VARIABLES = {"CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}

Settings = dict[str, Any]
Search = Callable[[NDArray[np.float32], int, Settings], Sequence[int]]


@dataclass(frozen=True)
class Documents:
    """The token vectors of all documents: document i owns rows offsets[i]:offsets[i + 1]."""

    vectors: NDArray[np.float16]
    offsets: NDArray[np.int64]
    tokens: NDArray[np.int32]

    @classmethod
    def load(cls, folder: Path) -> Documents:
        names = ("documents", "document_offsets", "document_tokens")
        return cls(*(np.load(folder / f"{name}.npy", mmap_mode="r") for name in names))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def each(self) -> list[NDArray[np.float16]]:
        """One view per document."""
        return np.split(self.vectors, self.offsets[1:-1])


@dataclass(frozen=True)
class BuildOptions:
    """What the command line decides about a build. `centroids` is None for the engine's own number."""

    threads: int
    centroids: int | None


class Engine(ABC):
    """One peer: how to build its index, open it and search it."""

    name: str
    distribution: str
    """Name of the installed package, for its version."""
    module: str
    """Imported before any clock starts."""
    variant: str = ""
    """What --variant says, for an engine with several ways to build."""

    def prepare(self) -> None:
        """Do what must not count in any timing: imports, and for some engines compiling."""
        importlib.import_module(self.module)

    @abstractmethod
    def build(self, documents: Documents, folder: Path, options: BuildOptions) -> Settings:
        """Write the index into the empty `folder`; return the settings it was built with."""

    @abstractmethod
    def open(self, folder: Path, threads: int) -> Search:
        """Load the index; return a function (query vectors, k, settings of a point) -> document ids, best first."""

    @abstractmethod
    def points(self, k: int) -> list[tuple[str, Settings]]:
        """Operating points (label, settings): the documented default first, then wider ones."""


def queries(folder: Path) -> list[NDArray[np.float32]]:
    """One (tokens, 128) array per query, exactly as given."""
    rows, offsets = np.load(folder / "queries.npy"), np.load(folder / "query_offsets.npy")
    return [np.ascontiguousarray(rows[a:b], dtype=np.float32) for a, b in pairwise(offsets)]


def folder_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def peak_rss_mb() -> float:
    """Of this program, pages of the mapped vectors included; unlike getrusage's, VmHWM begins anew with it."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def pin(threads: int) -> None:
    """Keep this process on `threads` cores, the last ones: the system's own work prefers the first."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])


def build(engine: Engine, vectors: Path, folder: Path, options: BuildOptions) -> dict[str, Any]:
    documents = Documents.load(vectors)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    start = time.perf_counter()
    settings = engine.build(documents, folder, options)
    seconds = time.perf_counter() - start
    return {
        "build_settings": settings | {"threads": options.threads},
        "build_seconds": round(seconds, 3),
        "build_peak_rss_mb": round(peak_rss_mb(), 1),
        "index_bytes": folder_bytes(folder),
    }


def time_point(search: Search, asked: list[NDArray[np.float32]], k: int, settings: Settings) -> dict[str, Any]:
    """One query at a time, after a warm-up; `ids` may be of the first queries only."""
    warm = time.perf_counter()
    for query in asked[:WARM_UP]:
        search(query, k, settings)
        if time.perf_counter() - warm > SECONDS_A_POINT / 4:
            break
    found: list[list[int]] = []
    milliseconds: list[float] = []
    begin = time.perf_counter()
    for query in asked:
        if len(found) >= FEWEST and time.perf_counter() - begin > SECONDS_A_POINT:
            break
        start = time.perf_counter()
        ids = search(query, k, settings)
        milliseconds.append((time.perf_counter() - start) * 1000)
        row = [int(i) for i in ids[:k]]
        found.append(row + [-1] * (k - len(row)))
    return {
        "ms_mean": round(statistics.fmean(milliseconds), 4),
        "ms_median": round(statistics.median(milliseconds), 4),
        "ids": found,
    }


def search_all(engine: Engine, vectors: Path, folder: Path, threads: int, ks: list[int]) -> dict[str, Any]:
    search = engine.open(folder, threads)
    asked = queries(vectors)
    points = []
    for k in ks:
        for label, settings in engine.points(k):
            timed = time_point(search, asked, k, settings)
            points.append({"label": label, "settings": settings, "k": k, "threads": threads} | timed)
            print(f"{engine.name} k={k} {label}: {timed['ms_mean']} ms", file=sys.stderr)
    return {"points": points}


def child(engine: Engine, arguments: argparse.Namespace) -> dict[str, Any]:
    """Do the work of the build child or of the search child."""
    index = arguments.work / "index"
    if arguments.phase == "build":
        pin(arguments.build_threads)
        engine.prepare()
        options = BuildOptions(arguments.build_threads, arguments.centroids or None)
        return build(engine, arguments.vectors, index, options)
    pin(arguments.threads)
    engine.prepare()
    return search_all(engine, arguments.vectors, index, arguments.threads, arguments.ks)


def run_child(phase: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Run this script again as a process of its own; give back the JSON it leaves."""
    answer: Path = arguments.work / f"{phase}.json"
    answer.unlink(missing_ok=True)
    threads = str(arguments.build_threads if phase == "build" else arguments.threads)
    environment = os.environ | FIXED_VARIABLES | dict.fromkeys(THREAD_VARIABLES, threads)
    command = [sys.executable, *sys.argv, "--phase", phase]
    # The engines print to stdout as they like: it belongs to their log, not to the caller.
    done = subprocess.run(command, env=environment, stdout=sys.stderr, check=False)
    if not answer.exists():
        return {"error": f"{phase}: the process ended with code {done.returncode}"}
    left: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    return left


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Build and search one peer's index; write the result as JSON.")
    parser.add_argument("--vectors", type=Path, required=True, help="folder with documents.npy, queries.npy and so on")
    parser.add_argument("--work", type=Path, required=True, help="folder for the index")
    parser.add_argument("--out", type=Path, required=True, help="the result, JSON")
    parser.add_argument("--threads", type=int, default=1, help="cores of the search")
    parser.add_argument("--build-threads", type=int, default=2, help="cores of the build")
    parser.add_argument("--ks", type=lambda text: [int(k) for k in text.split(",")], default=[10, 100])
    parser.add_argument(
        "--centroids", type=int, default=CENTROIDS, help="of the PLAID and WARP family; 0: the engine's own number"
    )
    parser.add_argument("--search-only", action="store_true", help="search the index an earlier run left in --work")
    parser.add_argument("--variant", default="", help="of the engine, where it has several")
    parser.add_argument("--phase", choices=("build", "search"), help=argparse.SUPPRESS)
    return parser.parse_args()


def main(engine: Engine) -> None:
    arguments = parse()
    engine.variant = arguments.variant
    if arguments.phase:
        try:
            answer = child(engine, arguments)
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{arguments.phase}: {type(error).__name__}: {error}"}
        (arguments.work / f"{arguments.phase}.json").write_text(json.dumps(answer), encoding="utf-8")
        return
    result: dict[str, Any] = {"engine": f"{engine.name} {engine.variant}".strip()}
    try:
        result["version"] = version(engine.distribution)
        arguments.work.mkdir(parents=True, exist_ok=True)
        kept = arguments.work / "build.json"
        if arguments.search_only:
            result |= json.loads(kept.read_text(encoding="utf-8"))
        else:
            result |= run_child("build", arguments)
        if "error" not in result:
            result |= run_child("search", arguments)
    except Exception as error:
        result["error"] = f"{type(error).__name__}: {error}"
    arguments.out.write_text(json.dumps(result), encoding="utf-8")
