"""`asterism add DIR INPUT…`: more documents."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import DocumentError, InputError
from .index import report
from .inputs import CheckedInput, checked_input
from .options import Folder, Inputs, Json, Model, Quiet
from .output import print_note
from .progress import progress_bar

if TYPE_CHECKING:
    from ..retriever import Retriever

Update = Annotated[bool, typer.Option("--update", help="Replace documents whose ids exist.")]
Skip = Annotated[bool, typer.Option("--skip-existing", help="Leave out documents whose ids exist.")]


def add(
    folder: Folder,
    inputs: Inputs,
    update: Update = False,
    skip_existing: Skip = False,
    model: Model = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add documents to an index. An id that exists is an error, unless --update or --skip-existing."""
    from ..retriever import Retriever

    begin = time.perf_counter()
    if update and skip_existing:
        raise InputError("--update and --skip-existing were both given, expected one of them")
    with Retriever.open(folder, model) as retriever, checked_input(inputs, quiet) as documents:
        if retriever.job() is not None:
            raise InputError(f"{folder} is not finished: run the `asterism index` that began it again, then add")
        if not update and not skip_existing:
            for where, document in documents.located():
                if document.id in retriever:
                    advice = "use --update to replace it, or --skip-existing"
                    raise DocumentError(f"{where}: the index has the id {document.id!r} already: {advice}")
        before = len(retriever)
        given = _add(retriever, documents, update, skip_existing, quiet)
        added = len(retriever) - before
        done = {"added": added, "replaced": given - added, "skipped": len(documents) - given}
        report(retriever, begin, as_json, quiet, done)


def _add(retriever: Retriever, documents: CheckedInput, update: bool, skip_existing: bool, quiet: bool) -> int:
    """How many were added or replaced."""
    wanted = retriever.missing(documents) if skip_existing else documents
    with progress_bar("adding", len(documents), quiet) as show:
        try:
            return retriever.add(wanted, update=update, progress=show)
        except KeyboardInterrupt:
            advice = "run it again with --update" if update else "run it again with --skip-existing to go on"
            print_note(f"{len(retriever):,} documents are in {retriever.path}: {advice}", quiet)
            raise
