"""How many functions of asterism a document meets on its way to bytes, and a query on its way to a hybrid answer.

    python scripts/count_hops.py [--list] [--model MODEL]

A hop is a function that is entered from another file of asterism: whoever follows the road must open one more file.
Constructors and other special methods are not counted by themselves. Each function counts once. The model is loaded
and the index is open before tracing begins. Prints the hops, and for comparison all functions that were called.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import asterism
from asterism.models.registry import DEFAULT

ROOT = str(Path(asterism.__file__).parent)
MOST_FOR_A_DOCUMENT, MOST_FOR_A_QUERY = 82, 79

Function = tuple[str, str, int]  # file, name, first line


def trace(work: Callable[[], object]) -> tuple[list[Function], list[Function]]:
    """The hops of some work, and all functions of asterism that it called."""
    called: dict[Function, bool] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(ROOT) or code.co_name.endswith("comp>"):
            return
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(ROOT):
            caller = caller.f_back
        crosses = caller is None or caller.f_code.co_filename != code.co_filename
        key = (code.co_filename[len(ROOT) + 1 :], code.co_qualname, code.co_firstlineno)
        called[key] = called.get(key, False) or crosses

    sys.setprofile(note)
    threading.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    named = [key for key in called if not key[1].endswith("<genexpr>")]
    hops = [key for key in named if called[key] and not key[1].rpartition(".")[2].startswith("__")]
    return hops, named


def count_hops(folder: Path, model: str | Path) -> dict[str, tuple[list[Function], list[Function]]]:
    """Hops and all calls of adding one document, and of one hybrid search."""
    with asterism.Retriever.create(folder, model) as retriever:
        retriever.add(asterism.Document(str(i), f"some text about thing number {i}") for i in range(20))
        retriever.search("thing", method="hybrid")
        document = asterism.Document("a", "a document of a few words", title="a title", metadata={"n": 1})
        adding = trace(lambda: retriever.add([document]))
        retriever.search("words", method="hybrid")  # opens and verifies what was added
        searching = trace(lambda: retriever.search("a few words", method="hybrid"))
    return {"document to bytes": adding, "query to hybrid answer": searching}


def main() -> None:
    """Trace, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="name every hop")
    parser.add_argument("--model", default=DEFAULT)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for road, (hops, calls) in count_hops(Path(folder) / "x.ast", given.model).items():
            print(
                f"{road}: {len(hops)} hops ({len(calls)} functions in all, in {len({key[0] for key in calls})} files)"
            )
            for file, name, _ in hops if given.list else ():
                print(f"  {file}  {name}")


if __name__ == "__main__":
    main()
