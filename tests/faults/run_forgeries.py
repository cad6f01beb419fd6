"""Forged indexes, each met by everything that can be done with one, in a process of its own.

python -m tests.faults.run_forgeries FOLDER COUNT SEED     prints the counts; exits 0 if nothing but errors of ours came
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

from asterism import TokenBuild
from tests.faults.forging import forge
from tests.faults.small_index import do_everything, make_index

SECONDS = 10
BUILDS = {
    "flat": (False, None),
    "coded": (True, None),
    "quantile": (True, TokenBuild(threads=1, bits=2, levels="quantile")),
    "refined": (True, TokenBuild(threads=1, bits=4, refinement="float16")),
    "fixed": (True, TokenBuild(threads=1, fixed=6)),
}


def in_child(copy: Path) -> tuple[int, str]:
    """How a child ended that did everything, and what it said."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        code = 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                said = json.dumps(do_everything(copy))
            code = 0
        except BaseException:
            said = traceback.format_exc()
        os.write(writer, said.encode()[-60_000:])
        os._exit(code)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return (-os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)), said


def main(folder: Path, count: int, seed: int) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for name, (coded, build) in BUILDS.items():
        if not (folder / name).exists():
            make_index(folder / name, coded, build)
    rng = random.Random(seed)
    outcomes: Counter[str] = Counter()
    failures = 0
    for number in range(count):
        base = rng.choice(list(BUILDS))
        copy = folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder / base, copy)
        what = forge(copy, rng)
        for _ in range(rng.choice([0, 0, 0, 1, 2])):
            with suppress(LookupError, TypeError, AttributeError, ValueError, sqlite3.Error):  # no place left for it
                what += f" and {forge(copy, rng)}"
        code, said = in_child(copy)
        if code == 0:
            errors = json.loads(said)
            outcomes["refused" if errors else "used"] += 1
            outcomes["mended"] += bool(errors) and "check at last" not in errors
            continue
        failures += 1
        kind = f"signal {-code}" if code < 0 else "raw exception"
        outcomes[kind] += 1
        print(f"{number} {base}: {what}: {kind}\n{said[-1500:]}", flush=True)
    print(", ".join(f"{name} {value}" for name, value in sorted(outcomes.items())), f"of {count}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
