"""`asterism demo`: index the docstrings of Python's own standard library, and ask it something."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import Quiet
from .output import megabytes, terminal
from .progress import progress_bar, waiting
from .search import print_ranking

if TYPE_CHECKING:
    from ..retriever import Retriever

QUESTIONS = (
    "how do I run a function every few seconds?",
    "keep a list sorted while inserting into it",
    "copy a whole folder of files",
)

To = Annotated[Path, typer.Option("--to", metavar="DIR", help="Where the index goes.")]


def demo(to: To = Path("stdlib.ast"), quiet: Quiet = False) -> None:
    """Index the docstrings of Python's standard library, then answer three questions and show why."""
    from ..documents.stdlib_docstrings import read_stdlib_documents
    from ..models.registry import DEFAULT, MODELS
    from .index import opened

    console = terminal()
    begin = time.perf_counter()
    model = MODELS[DEFAULT]
    with waiting(f"loading the model {DEFAULT} ({model.megabytes} MB, fetched once)"):
        from ..retriever import Retriever

        finished = to.exists() and _finished(Retriever.open(to))
        job = {"demo": True, "model": DEFAULT}
        retriever = Retriever.open(to) if finished else opened(to, DEFAULT, job, {})
    if finished:
        console.print(f"{to} is there already: {len(retriever):,} documents (remove it to see it made)")
    else:
        with waiting("reading the docstrings of Python's standard library"):
            documents = list(read_stdlib_documents())
        console.print(f"{len(documents):,} docstrings of modules, classes, methods and functions")
        started, there = time.perf_counter(), len(retriever)
        with progress_bar("indexing", len(documents), quiet) as show:
            retriever.add(retriever.missing(documents), progress=lambda done: show(there + done))
        retriever.finish_job()
        info, seconds = retriever.info(), time.perf_counter() - started
        size = f"{info['vectors']:,} vectors, {megabytes(info['bytes'])}"
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


def _finished(retriever: Retriever) -> bool:
    with retriever:
        return retriever.job() is None and len(retriever) > 0
