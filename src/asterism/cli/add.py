"""`asterism add DIR INPUT…`: more documents."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

from ..errors import InputError
from .index import print_report
from .inputs import CheckedInputs, check_inputs
from .options import Folder, Inputs, Json, Model, Quiet, Wait, describe_option
from .output import print_note
from .progress import show_progress

if TYPE_CHECKING:
    from ..retriever import AddCounts, Retriever

Update = Annotated[bool, describe_option("--update", help="Replace documents whose ids exist.")]
Skip = Annotated[bool, describe_option("--skip-existing", help="Skip documents whose ids exist.")]


def add(
    folder: Folder,
    inputs: Inputs,
    update: Update = False,
    skip_existing: Skip = False,
    wait: Wait = None,
    model: Model = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add documents to an index. An id that exists is an error, unless --update or --skip-existing."""
    from ..retriever import Retriever
    from ..retriever.jobs import is_unfinished

    begin = time.perf_counter()
    if update and skip_existing:
        raise InputError("--update and --skip-existing were both given, expected one of them")
    with Retriever.open(folder, model) as retriever:
        if is_unfinished(retriever.collection):
            raise InputError(f"{folder} is not finished: run the same `asterism index` again, then add")
        existing = () if update or skip_existing else retriever
        with check_inputs(inputs, quiet, existing) as documents:
            counts = _add(retriever, documents, update, skip_existing, wait, quiet)
            skipped = len(documents) - counts.total
            done = {"added": counts.added, "replaced": counts.replaced, "skipped": skipped}
            print_report(retriever, begin, as_json, quiet, done)


def _add(
    retriever: Retriever, documents: CheckedInputs, update: bool, skip_existing: bool, wait: float | None, quiet: bool
) -> AddCounts:
    wanted = retriever.missing(documents) if skip_existing else documents
    with show_progress("adding", len(documents), quiet) as show:
        try:
            return retriever.add_and_count(wanted, update=update, progress=show, wait=wait)
        except KeyboardInterrupt:
            advice = "run it again with --update" if update else "run it again with --skip-existing to go on"
            print_note(f"{len(retriever):,} documents are in {retriever.path}: {advice}", quiet)
            raise
