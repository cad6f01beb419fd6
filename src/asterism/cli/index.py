"""`asterism index INPUT… --to DIR`: a new index; after an interruption, the same command goes on."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import IndexExists, NotAnIndex
from ..settings import K1, B
from .folder_files import (
    ChunkTokens,
    Exclude,
    Include,
    Overlap,
    Strict,
    explain_bad_files,
    make_wishes,
    print_files,
    sync_folders,
)
from .inputs import STDIN, CheckedInputs, check_inputs, split_inputs
from .options import Inputs, Json, Quiet, describe_option
from .output import format_megabytes, print_json, print_note
from .progress import show_progress
from .readability import warn_of_unreadable

if TYPE_CHECKING:
    from ..documents.document import Document
    from ..documents.files.chunking import Chunking
    from ..retriever import Retriever, SyncReport
    from ..retriever.syncing.folders import Wishes

To = Annotated[Path, describe_option("--to", metavar="DIR", help="The folder to create.")]
ModelName = Annotated[
    str | None,
    describe_option("--model", help="A name listed by `asterism models`, or the folder of a checkpoint."),
]
ViewNames = Annotated[
    str | None,
    describe_option(
        "--views",
        help="What to keep of each document: multi (token vectors), dense, lexical; separated by commas.",
        default="all that the model can give",
    ),
]
TermKind = Annotated[
    str | None,
    describe_option(
        "--terms",
        help="Terms of the lexical view: model (by its lexical head), or words or tokens, counted for BM25.",
        default="model if it has a lexical head, otherwise words",
    ),
]
Saturation = Annotated[
    float, describe_option("--k1", help="BM25's k1, from 0: how much further occurrences of a term add.", default=True)
]
LengthShare = Annotated[
    float, describe_option("--b", help="BM25's b, from 0 to 1: how much a document's length counts.", default=True)
]
LanguageCode = Annotated[
    str,
    describe_option(
        "--language",
        help="Language of the words, such as en; auto: that of the documents; none: no endings are removed.",
        default=True,
    ),
]
MostVectors = Annotated[
    int,
    describe_option(
        "--most-vectors", help="Keep at most this many token vectors of a document (0: any number).", default=True
    ),
]
Bits = Annotated[int, describe_option("--bits", help="Bits a dimension: 1, 2, 4, 16 or 32 (floats).", default=True)]
Precision = Annotated[
    str, describe_option("--precision", help="The model's arithmetic: int8 or float32.", default=True)
]
Seed = Annotated[
    int, describe_option("--seed", help="Seeds every random choice: the same seed gives the same index.", default=True)
]
Refinement = Annotated[
    bool, describe_option("--refinement", help="Also keep float16 vectors, to score the best again: nearly exact.")
]


def index(
    inputs: Inputs,
    to: To,
    model: ModelName = None,
    views: ViewNames = None,
    terms: TermKind = None,
    k1: Saturation = K1,
    b: LengthShare = B,
    language: LanguageCode = "auto",
    most_vectors: MostVectors = 0,
    bits: Bits = 4,
    precision: Precision = "int8",
    seed: Seed = 7,
    refinement: Refinement = False,
    include: Include = None,
    exclude: Exclude = None,
    chunk_tokens: ChunkTokens = None,
    overlap: Overlap = None,
    strict: Strict = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Create an index of documents. After an interruption, the same command goes on where it stopped."""
    from ..models.registry import DEFAULT
    from ..retriever.syncing.single_files import remember_single_files
    from ..settings import EncoderSettings, TermCounting, TokenBuild

    settings = {
        "views": None if views is None else [name.strip() for name in views.split(",") if name.strip()],
        "terms": terms,
        "counting": TermCounting(k1, b, language),
        "most_vectors": most_vectors,
        "build": TokenBuild.from_json({"bits": bits, "seed": seed, "refinement": "float16" if refinement else "none"}),
        "encoder": EncoderSettings.from_json({"precision": precision}),
    }
    begin = time.perf_counter()
    sources, folders = split_inputs(inputs)
    wishes = make_wishes(include, exclude, chunk_tokens, overlap)
    with check_inputs(sources, quiet, chunking=wishes.chunking) as documents:
        if folders:
            check_files(folders, wishes, to, strict)
        chosen = DEFAULT if model is None else model
        with open_or_resume(to, inputs, chosen, settings, wishes.chunking) as retriever:
            remember_single_files(retriever.collection, documents.files)
            files = fill_index(retriever, documents, quiet, folders, wishes)
            print_report(retriever, begin, as_json, quiet, files=files)


def check_files(folders: Sequence[str], wishes: Wishes, to: Path, strict: bool) -> None:
    """Refuse folders before anything is written."""
    from ..retriever.syncing.sync import preview_folders

    with explain_bad_files():
        preview_folders(folders, wishes, to, strict)


def open_or_resume(
    to: Path, inputs: Sequence[str], model: str, settings: dict[str, Any], chunking: Chunking | None = None
) -> Retriever:
    """A new index, or the one that an interrupted run with the same inputs and settings left."""
    from ..documents.folders.names import escape_path
    from ..retriever import Retriever
    from ..retriever.jobs import describe_job, start_job

    places = [given if given == STDIN else escape_path(os.path.abspath(given)) for given in inputs]
    job = describe_job(places, model, **settings, chunking=chunking)
    if not to.exists() or _remove_empty(to):
        retriever = Retriever.create(to, model, **settings)
    else:
        try:
            retriever = Retriever.open(to)
        except NotAnIndex as error:
            raise IndexExists(f"{to} exists and is not an index: choose another folder, or remove it first") from error
        _refuse_other_job(retriever, job)
    start_job(retriever.collection, job)
    return retriever


def _refuse_other_job(retriever: Retriever, job: dict[str, Any]) -> None:
    """Go on only with the same job; an index without documents and job is one that was killed before it began."""
    from ..retriever.jobs import is_readable, list_differences, read_job

    to, begun = retriever.path, read_job(retriever.collection)
    if begun is None:
        if len(retriever):
            raise IndexExists(
                f"{to} is a finished index: use `asterism add`, choose another folder, or remove it first"
            )
    elif not is_readable(begun):
        raise IndexExists(
            f"{to} was begun by an earlier version of asterism: choose another folder, or remove it first"
        )
    elif differences := list_differences(begun, job):
        others = ", ".join(differences)
        raise IndexExists(
            f"{to} was begun with other inputs or settings ({others}): give the same to go on, or remove it first"
        )


def _remove_empty(folder: Path) -> bool:
    """Remove a folder without anything in it, because an index is put into place by renaming; False if it has files."""
    try:
        folder.rmdir()
    except OSError:
        return False
    return True


def fill_index(
    retriever: Retriever,
    documents: CheckedInputs | list[Document],
    quiet: bool,
    folders: Sequence[str] = (),
    wishes: Wishes | None = None,
) -> SyncReport | None:
    """Add the documents and files that are not there yet, and finish the job; what was committed before a stop stays.

    Returns what became of the files; None without folders.
    """
    from ..retriever.jobs import finish_job

    there, files = len(retriever), None
    try:
        if len(documents):
            with show_progress("indexing", len(documents), quiet) as show:
                remove_others(retriever, documents)
                rest = retriever.missing(documents, changed=True)
                retriever.update(rest, progress=lambda done: show(there + done))
        if folders and wishes is not None:
            files = sync_folders(retriever, folders, wishes, quiet)
    except KeyboardInterrupt:
        print_note(f"{len(retriever):,} documents are in {retriever.path}: run the same command to go on", quiet)
        raise
    finish_job(retriever.collection)
    return files


def remove_others(retriever: Retriever, documents: CheckedInputs | list[Document]) -> None:
    """Remove what an interrupted run found in the inputs and is gone since; folders are synced afterwards."""
    from ..documents.folders.names import find_owner
    from ..retriever.syncing.memory import read_folders

    if not len(retriever):
        return
    wanted = {document.id for document in documents}
    with retriever.collection.reading() as reader:
        folders = [folder.name for folder in read_folders(reader)]
        others = [id for id in reader.read_all_ids().values() if id not in wanted and not find_owner(id, folders)]
    retriever.delete(others)


def print_report(
    retriever: Retriever,
    begin: float,
    as_json: bool,
    quiet: bool,
    done: dict[str, int] | None = None,
    files: SyncReport | None = None,
) -> None:
    """What the index has now, what was done, and how long it took."""
    info, seconds = retriever.info(), time.perf_counter() - begin
    if as_json:
        found = None if files is None else files.to_json()
        print_json({**info, **(done or {}), "files": found, "seconds": round(seconds, 2)})
    else:
        if files is not None:
            print_files(files, quiet)
        if done is not None:
            print_note(", ".join(f"{count:,} {name}" for name, count in done.items()), quiet)
        size = f"{info['documents']:,} documents, {info['vectors']:,} vectors, {format_megabytes(info['bytes'])}"
        print_note(f"{info['path']}: {size}, in {seconds:.1f} s", quiet)
        if warning := warn_of_unreadable(info["readable"]):
            print_note(warning, quiet)
