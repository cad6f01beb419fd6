"""`asterism demo`: index the docstrings of Python's standard library, and ask three questions."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import Annotated

from .options import Quiet, describe_option
from .output import format_megabytes, make_console
from .progress import show_waiting
from .rankings import print_ranking

CORPUS = "docstrings of Python's standard library"
QUESTIONS = (
    "how do I run a function every few seconds?",
    "keep a list sorted while inserting into it",
    "copy a whole folder of files",
)

To = Annotated[Path, describe_option("--to", metavar="DIR", help="The folder of the index.", default=True)]


def demo(to: To = Path("stdlib.ast"), quiet: Quiet = False) -> None:
    """Index the docstrings of Python's standard library, then answer three questions and show why."""
    from ..documents.stdlib_docstrings import read_stdlib_documents
    from ..models.registry import DEFAULT, MODELS
    from .index import fill_index, open_or_resume

    console = make_console()
    begin = time.perf_counter()
    model = MODELS[DEFAULT]
    with show_waiting(f"loading the model {DEFAULT} ({model.megabytes} MB, fetched once)"):
        from ..retriever import Retriever

        finished = to.exists() and _is_finished(to)
        retriever = Retriever.open(to) if finished else open_or_resume(to, [CORPUS], DEFAULT, {})
    if finished:
        console.print(f"{to} exists already: {len(retriever):,} documents (remove it to see it built)")
    else:
        with show_waiting(f"reading the {CORPUS}"):
            documents = list(read_stdlib_documents())
        console.print(f"{len(documents):,} docstrings of modules, classes, methods and functions")
        started = time.perf_counter()
        fill_index(retriever, documents, quiet)
        info, seconds = retriever.info(), time.perf_counter() - started
        size = f"{info['vectors']:,} vectors, {format_megabytes(info['bytes'])}"
        console.print(f"indexed in {seconds:.0f} s: {size} in {to}")
    for question in QUESTIONS:
        ranking = retriever.search(question, k=3)
        console.print(f"\n{question}", style="bold")
        print_ranking(ranking, [retriever.explain(question, hit.id) for hit in ranking[:1]])
    retriever.close()
    console.print(f"\ndone in {time.perf_counter() - begin:.0f} s. Try next:")
    command = "asterism" if shutil.which("asterism") else sys.argv[0]
    where = '{"kind": "function", "module": "itertools"}'
    for arguments in (
        f'search {to} "parse a date" --explain',
        f"search {to} \"pairs of elements\" --filter '{where}'",
        "index your-documents/ --to yours.ast",
    ):
        console.print(f"  {command} {arguments}", soft_wrap=True)


def _is_finished(folder: Path) -> bool:
    from ..retriever import Retriever

    with Retriever.open(folder) as retriever:
        return not retriever.info()["unfinished"] and len(retriever) > 0
