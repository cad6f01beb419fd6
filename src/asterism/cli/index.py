"""`asterism index INPUT… --to DIR`: a new index; run again after an interruption, it goes on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import IndexExists, NotAnIndex
from .inputs import CheckedInput, checked_input
from .options import Inputs, Json, Quiet
from .output import megabytes, print_json, print_note
from .progress import progress_bar

if TYPE_CHECKING:
    from ..retriever import Retriever

To = Annotated[Path, typer.Option("--to", metavar="DIR", help="The folder to make.", show_default=False)]
Named = Annotated[
    str | None,
    typer.Option("--model", help="A name of `asterism models`, or the folder of a checkpoint.", show_default=False),
]
ViewNames = Annotated[
    str | None,
    typer.Option(
        "--views",
        help="What to keep of each document: multi (token vectors), dense, lexical; separated by commas.",
        show_default="all that the model can give",
    ),
]
TermNames = Annotated[
    str | None,
    typer.Option(
        "--terms",
        help="Of the lexical view: model (its lexical head's), or words or tokens, counted for BM25.",
        show_default="model where there is such a head, otherwise words",
    ),
]
MostVectors = Annotated[
    int, typer.Option("--most-vectors", help="Token vectors of a document at most: bounds long ones (0: any number).")
]
Bits = Annotated[int, typer.Option("--bits", help="Of a dimension: 1, 2 or 4, or floats of 16 or 32.")]
Precision = Annotated[str, typer.Option("--precision", help="The model's arithmetic: int8 or float32.")]
Seed = Annotated[int, typer.Option("--seed", help="Of every random choice; the same seed gives the same index.")]
Refinement = Annotated[
    bool, typer.Option("--refinement", help="Keep a float16 copy for the last few: larger, and nearly exact.")
]


def index(
    inputs: Inputs,
    to: To,
    model: Named = None,
    views: ViewNames = None,
    terms: TermNames = None,
    most_vectors: MostVectors = 0,
    bits: Bits = 4,
    precision: Precision = "int8",
    seed: Seed = 7,
    refinement: Refinement = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make an index of documents. Run again after an interruption, it goes on where it stopped."""
    from ..models.registry import DEFAULT
    from ..settings import EncoderSettings, TokenBuild

    kept = None if views is None else [name.strip() for name in views.split(",") if name.strip()]
    build = TokenBuild.from_json({"bits": bits, "seed": seed, "refinement": "float16" if refinement else "none"})
    encoder = EncoderSettings.from_json({"precision": precision})
    begin = time.perf_counter()
    with checked_input(inputs, quiet) as documents:
        chosen = DEFAULT if model is None else model
        settings: dict[str, Any] = {"views": kept, "terms": terms, "most_vectors": most_vectors}
        settings |= {"build": build, "encoder": encoder}
        job = {name: repr(value) for name, value in settings.items()} | {"model": chosen, "inputs": list(inputs)}
        with opened(to, chosen, job, settings) as retriever:
            fill(retriever, documents, quiet)
            report(retriever, begin, as_json, quiet)


def opened(to: Path, model: str, job: dict[str, Any], settings: dict[str, Any]) -> Retriever:
    """A new index, or the one that an interrupted run with the same settings left."""
    from ..retriever import Retriever

    if not to.exists() or _is_empty(to):
        retriever = Retriever.create(to, model, **settings)
        retriever.start_job(job)
        return retriever
    try:
        retriever = Retriever.open(to)
    except NotAnIndex as error:
        raise IndexExists(f"{to} is there and is no index: choose another folder, or remove it first") from error
    unfinished = retriever.job()
    if unfinished is None and len(retriever):
        raise IndexExists(f"{to} is a finished index: use `asterism add`, choose another folder, or remove it first")
    if unfinished not in (None, job):
        raise IndexExists(f"{to} was begun with other inputs or settings: give the same to go on, or remove it first")
    retriever.start_job(job)
    return retriever


def _is_empty(folder: Path) -> bool:
    """A folder without anything in it is as good as none: it is removed, for an index is made by renaming."""
    try:
        folder.rmdir()
    except OSError:
        return False
    return True


def fill(retriever: Retriever, documents: CheckedInput, quiet: bool) -> None:
    """Add what is not there yet; what was committed stays, whatever happens."""
    there = len(retriever)
    with progress_bar("indexing", len(documents), quiet) as show:
        try:
            retriever.add(retriever.missing(documents), progress=lambda done: show(there + done))
        except KeyboardInterrupt:
            print_note(f"{len(retriever):,} documents are in {retriever.path}: run the same command to go on", quiet)
            raise
    retriever.finish_job()


def report(retriever: Retriever, begin: float, as_json: bool, quiet: bool, done: dict[str, int] | None = None) -> None:
    """What is there now, what was done, and how long it took."""
    info, seconds = retriever.info(), time.perf_counter() - begin
    if as_json:
        print_json({**info, **(done or {}), "seconds": round(seconds, 2)})
    else:
        if done is not None:
            print_note(", ".join(f"{count:,} {name}" for name, count in done.items()), quiet)
        size = f"{info['documents']:,} documents, {info['vectors']:,} vectors, {megabytes(info['bytes'])}"
        print_note(f"{info['path']}: {size}, in {seconds:.1f} s", quiet)
