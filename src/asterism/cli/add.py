"""`asterism add DIR INPUT…`: more documents."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

from ..errors import InputError
from .folder_files import (
    ChunkTokens,
    Exclude,
    Include,
    Overlap,
    Strict,
    make_wishes,
    sync_folders,
)
from .index import check_files, print_report
from .inputs import CheckedInputs, check_inputs, list_files, split_inputs
from .options import Folder, Inputs, Json, Model, Quiet, Wait, describe_option
from .output import print_note
from .progress import show_progress

if TYPE_CHECKING:
    from ..retriever import AddCounts, Retriever, SyncReport

Update = Annotated[bool, describe_option("--update", help="Replace documents whose ids exist.")]
Skip = Annotated[bool, describe_option("--skip-existing", help="Skip documents whose ids exist.")]


def add(
    folder: Folder,
    inputs: Inputs,
    update: Update = False,
    skip_existing: Skip = False,
    include: Include = None,
    exclude: Exclude = None,
    chunk_tokens: ChunkTokens = None,
    overlap: Overlap = None,
    strict: Strict = False,
    wait: Wait = None,
    model: Model = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add documents, or folders of files, to an index.

    An id that exists is an error, unless --update or --skip-existing; a folder that the index has is synced. With
    --update, a file is replaced as a whole.
    """
    from ..retriever import Retriever
    from ..retriever.jobs import is_unfinished
    from ..retriever.syncing.memory import read_folders
    from ..retriever.syncing.ownership import find_stale_ids
    from ..retriever.syncing.single_files import check_single_files, remember_single_files

    begin = time.perf_counter()
    if update and skip_existing:
        raise InputError("--update and --skip-existing were both given, expected one of them")
    with Retriever.open(folder, model) as retriever:
        if is_unfinished(retriever.collection):
            raise InputError(f"{folder} is not finished: run the same `asterism index` again, then add")
        existing = () if update or skip_existing else retriever
        sources, folders = split_inputs(inputs)
        check_single_files(retriever.collection, list_files(sources))
        wishes = make_wishes(include, exclude, chunk_tokens, overlap)
        with retriever.collection.reading() as reader:
            owners = [one.name for one in read_folders(reader)]
        with check_inputs(sources, quiet, existing, wishes.chunking, owners) as documents:
            if folders:
                check_files(folders, wishes, folder, strict=False)
            if folders and strict:
                sync_folders(retriever, folders, wishes, quiet, strict, dry_run=True)
            if skip_existing:
                refuse_changed_files(retriever, documents)
            counts = _add(retriever, documents, update, skip_existing, wait, quiet)
            stale = find_stale_ids(retriever.collection, documents.passages) if update else []
            if stale:
                retriever.delete(stale, wait=wait)
            remember_single_files(retriever.collection, documents.files, wait)
            files = sync_folders(retriever, folders, wishes, quiet, strict, wait) if folders else None
            done = _count(counts, len(stale), len(documents) - counts.total, files)
            print_report(retriever, begin, as_json, quiet, done, files)


def refuse_changed_files(retriever: Retriever, documents: CheckedInputs) -> None:
    """Refuse files that the index has in another form: skipping by ids would mix both."""
    for document in retriever.missing(documents.read_files(), changed=True):
        if document.id in retriever:
            file, advice = document.metadata["file"], "use --update to replace it as a whole"
            raise InputError(f"{file} has changed since it was added ({document.id} is another text): {advice}")


def _count(counts: AddCounts, stale: int, skipped: int, files: SyncReport | None) -> dict[str, int]:
    """Documents and passages together."""
    added, replaced, removed = counts.added, counts.replaced, stale
    if files is not None:
        added += files.passages - files.passages_replaced
        replaced += files.passages_replaced
        removed += files.passages_removed
    return {"added": added, "replaced": replaced, "removed": removed, "skipped": skipped}


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
