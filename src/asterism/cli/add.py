"""`asterism add DIR INPUT…`: more documents."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from ..errors import DocumentError
from .index import report
from .terminal import Folder, Inputs, Json, Model, Quiet, checked_input, progress_bar

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
    with Retriever.open(folder, model) as retriever, checked_input(inputs, quiet) as documents:
        if not update and not skip_existing:
            for where, document in documents.located():
                if document.id in retriever:
                    advice = "use --update to replace it, or --skip-existing"
                    raise DocumentError(f"{where}: the index has the id {document.id!r} already: {advice}")
        wanted = retriever.missing(documents) if skip_existing else documents
        with progress_bar("adding", len(documents), quiet) as show:
            retriever.add(wanted, update=update, progress=show)
        report(retriever, begin, as_json, quiet)
