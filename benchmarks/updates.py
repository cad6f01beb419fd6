"""An index as it is used: open, memory of a searching process, and whether adding and deleting leaves a trace.

asterism index DATA/debian_desc_en --to debian.ast
python benchmarks/updates.py --index debian.ast --data DATA/debian_desc_en --extra DATA/scifact

The index is copied first; 1,000 documents of another corpus are added, deleted again, and compacted away.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

import asterism
from asterism.evaluation.datasets import read_evaluation_set

QUERIES = 200
ADDED = 1_000


def queries(data: Path) -> list[str]:
    return list(islice(read_evaluation_set(data, "test").queries.values(), QUERIES))


def resident() -> dict[str, int]:
    """Bytes: all, of files, and of the process's own."""
    text = Path("/proc/self/status").read_text()
    return {name: 1024 * int(re.search(rf"{name}:\s+(\d+)", text)[1]) for name in ("VmRSS", "RssFile", "RssAnon")}


def touched() -> int:
    """Bytes of all files that this process has mapped, and of the catalog."""
    found = set(re.findall(r" (/\S.*)$", Path("/proc/self/maps").read_text(), re.MULTILINE))
    return sum(Path(path).stat().st_size for path in found if Path(path).is_file())


def searching(index: Path, data: Path) -> None:
    """In a process of its own."""
    begin = time.perf_counter()
    retriever = asterism.Retriever.open(index)
    opening = time.perf_counter() - begin
    times = []
    for query in queries(data):
        begin = time.perf_counter()
        retriever.search(query)
        times.append(time.perf_counter() - begin)
    files = touched() + (index / "catalog.sqlite").stat().st_size
    print(
        json.dumps(
            {
                "open_s": opening,
                "first_search_s": times[0],
                "median_search_ms": 1000 * sorted(times)[len(times) // 2],
                **resident(),
                "files_touched": files,
                "rss_ratio": resident()["VmRSS"] / files,
            }
        )
    )


def found(retriever: asterism.Retriever, texts: list[str]) -> list[list[str]]:
    return [ranking.ids for ranking in retriever.search_many(texts, 10, method="exact")]


def agreement(first: list[list[str]], second: list[list[str]]) -> float:
    return sum(a == b for a, b in zip(first, second, strict=True)) / len(first)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--extra", type=Path)
    parser.add_argument("--searching", action="store_true")
    options = parser.parse_args()
    if options.searching:
        return searching(options.index, options.data)
    command = [sys.executable, __file__, "--index", options.index, "--data", options.data, "--searching"]
    print(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip(), flush=True)
    texts = queries(options.data)
    with tempfile.TemporaryDirectory(dir=options.index.absolute().parent) as folder:
        copy = Path(folder) / "copy.ast"
        shutil.copytree(options.index, copy)
        with asterism.Retriever.open(copy) as retriever:
            fresh = found(retriever, texts)
            extra = [
                asterism.Document(f"extra-{document.id}", document.text, document.title)
                for document in islice(asterism.read_documents(options.extra), ADDED)
            ]
            begin = time.perf_counter()
            retriever.add(extra)
            print(
                f"added {len(extra):,} in {time.perf_counter() - begin:.1f} s; {retriever.info()['segments']} segments"
            )
            changed = found(retriever, texts)
            begin = time.perf_counter()
            retriever.delete([document.id for document in extra])
            print(f"deleted them in {time.perf_counter() - begin:.2f} s")
            print(f"same top 10 as fresh: {agreement(fresh, found(retriever, texts)):.3f} of {len(texts)} queries")
            print(f"(while they were there: {agreement(fresh, changed):.3f})")
            begin = time.perf_counter()
            retriever.compact()
            print(f"compacted in {time.perf_counter() - begin:.1f} s; {retriever.info()['segments']} segments")
            print(f"same top 10 as fresh: {agreement(fresh, found(retriever, texts)):.3f}")
            retriever.check()
    return None


if __name__ == "__main__":
    main()
