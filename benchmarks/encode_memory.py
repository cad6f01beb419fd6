"""Peak memory of encoding a stream of passages, at 1,000 and at 20,000: it should be the same.

make bench-encode-memory     (or: python benchmarks/encode_memory.py --data ../shared/data)
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

COUNTS = (1_000, 20_000)


def passages(data: Path) -> Iterator[str]:
    """Real ones, over and over."""
    while True:
        with gzip.open(data / "debian_desc_en" / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)["text"]


def child(count: int, options: argparse.Namespace) -> None:
    import asterism

    encoder = asterism.load_encoder(precision=options.precision)
    begin, vectors = time.perf_counter(), 0
    for part in encoder.stream_documents(islice(passages(options.data), count)):
        vectors += len(part.multi.flat)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"passages": count, "vectors": vectors, "seconds": time.perf_counter() - begin, "peak_mb": peak}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--precision", default="int8")
    parser.add_argument("--count", type=int)
    options = parser.parse_args()
    if options.count:
        return child(options.count, options)
    peaks = []
    for count in COUNTS:
        command = [sys.executable, __file__, "--data", str(options.data), "--precision", options.precision]
        line = subprocess.run([*command, "--count", str(count)], check=True, capture_output=True, text=True).stdout
        print(line.strip(), flush=True)
        peaks.append(json.loads(line)["peak_mb"])
    print(f"ratio {peaks[1] / peaks[0]:.3f}")
    return None


if __name__ == "__main__":
    main()
