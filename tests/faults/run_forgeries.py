"""Runs every operation on forged indexes, in child processes.

python -m tests.faults.run_forgeries FOLDER COUNT SEED     prints the counts; exits 0 if only our own errors were raised
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import traceback
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from asterism import TokenBuild
from tests.faults.forging import forge
from tests.faults.small_index import do_everything, make_index

SECONDS = 10  # of CPU time; on a busy machine it takes longer
WAITING = 6
BATCH = 50  # indexes of one process
BUILDS = {
    "flat": (False, None),
    "coded": (True, None),
    "quantile": (True, TokenBuild(threads=1, bits=2, levels="quantile")),
    "refined": (True, TokenBuild(threads=1, bits=4, refinement="float16")),
    "fixed": (True, TokenBuild(threads=1, fixed=6)),
}


def forged_copy(folder: Path, number: int, seed: int) -> tuple[Path, str]:
    """The index of a number, which follows from the number and the seed alone; and what was changed."""
    rng = random.Random(seed * 1_000_003 + number)
    base, copy = rng.choice(list(BUILDS)), folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder / base, copy)
    what = f"{base}: {forge(copy, rng)}"
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        with suppress(LookupError, TypeError, AttributeError, ValueError, sqlite3.Error):  # no place left for it
            what += f" and {forge(copy, rng)}"
    return copy, what


def work_through(folder: Path, numbers: range, seed: int, report: TextIO) -> None:
    """One line before each index and one after it; a hang ends the process."""
    warnings.simplefilter("ignore")
    for number in numbers:
        copy, what = forged_copy(folder, number, seed)
        print(json.dumps({"number": number, "what": what}), file=report, flush=True)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.alarm(WAITING * SECONDS)
        try:
            print(json.dumps({"errors": do_everything(copy)}), file=report, flush=True)
        except Exception:
            print(json.dumps({"raw": traceback.format_exc()[-3000:]}), file=report, flush=True)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)


def in_child(folder: Path, numbers: range, seed: int) -> tuple[list[dict[str, Any]], int]:
    """What a child said, and how it ended: the signal, or 0."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "w") as report:
            work_through(folder, numbers, seed, report)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = [json.loads(line) for line in pipe]
    _, status = os.waitpid(child, 0)
    return said, os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def main(folder: Path, count: int, seed: int) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for name, (coded, build) in BUILDS.items():
        if not (folder / name).exists():
            make_index(folder / name, coded, build)
    outcomes: Counter[str] = Counter()
    failures = next_number = 0
    while next_number < count:
        said, ended = in_child(folder, range(next_number, min(count, next_number + BATCH)), seed)
        what: dict[str, Any] = {"number": next_number, "what": "before the first"}
        for line in said:
            if "what" in line:
                what = line
            elif "raw" in line:
                outcomes["raw exceptions"] += 1
                failures += 1
                print(what, line["raw"], sep="\n", flush=True)
            else:
                outcomes["refused" if line["errors"] else "used"] += 1
                outcomes["mended"] += bool(line["errors"]) and "check at last" not in line["errors"]
        next_number = what["number"] + 1
        if ended:
            outcomes[f"ended by {ended}"] += 1
            failures += 1
            print(what, f"ended by {ended}", sep="\n", flush=True)
        print(f"{next_number} of {count}", file=sys.stderr, flush=True)
    shutil.rmtree(folder / "copy", ignore_errors=True)
    print(", ".join(f"{name} {value}" for name, value in sorted(outcomes.items())), f"of {count}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
