"""One process of a crowd: `python -m tests.faults.crowd read|add|compact FOLDER WORKS SEED`.

Works until its standard input is closed. Prints a line when it has done its work WORKS times, and at the end how often
it was done, how often it was refused because another process was writing, and the longest time that it took once.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

from asterism import Collection, Document
from asterism.errors import IndexBusy
from tests.conftest import found_in
from tests.faults.beside import is_stopped
from tests.faults.driver import views_of


def work(role: str, collection: Collection, number: int, rng: random.Random) -> None:
    if role == "read":
        view = rng.choice(["multi", "dense", "lexical"])
        where = {"n": rng.randrange(20)} if rng.random() < 0.3 else None
        found_in(collection, views_of([f"text {rng.randrange(100)}"]), view, 10, where)
    elif role == "add":
        name = f"{rng.random()}-{number}"
        with collection.writing() as writer:
            writer.add([Document(name, f"text {name}", metadata={"n": number % 20})], views_of([f"text {name}"]))
            writer.settle()
    else:
        with collection.writing() as writer:
            writer.compact()


def main(role: str, folder: Path, works: int, seed: int) -> None:
    rng, collection = random.Random(seed), Collection.open(folder)
    done = busy = 0
    longest = 0.0
    while not is_stopped():
        begin = time.monotonic()
        try:
            work(role, collection, done, rng)
            done += 1
            if done == works:
                print("enough", flush=True)
        except IndexBusy:
            busy += 1
        longest = max(longest, time.monotonic() - begin)
    print(done, busy, round(longest, 3))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
