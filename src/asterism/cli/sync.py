"""`asterism sync DIR FOLDER…`: an index that stays in step with folders."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

from ..errors import IndexBusy, InputError
from .folder_files import ChunkTokens, Exclude, Include, Overlap, Strict, make_wishes, print_files, sync_folders
from .options import Folder, Json, Model, Quiet, Wait, describe_argument, describe_option
from .output import print_error, print_json, print_note

if TYPE_CHECKING:
    from ..retriever import Retriever, SyncReport
    from ..retriever.syncing.folders import Wishes

WATCH_PATIENCE = 60.0  # seconds that --watch waits for another writer, before it says so
BUSY = 1.0  # seconds until it tries again

Folders = Annotated[
    list[str] | None, describe_argument("FOLDER", "Folders of files; without any, all that the index has.")
]
DryRun = Annotated[bool, describe_option("--dry-run", help="Only say what would be done.")]
Watch = Annotated[bool, describe_option("--watch", help="Go on until Ctrl-C: sync whenever a file changes.")]
Remove = Annotated[
    bool, describe_option("--remove", help="Remove the folders' files from the index; they need not exist any more.")
]


def sync(
    folder: Folder,
    folders: Folders = None,
    include: Include = None,
    exclude: Exclude = None,
    chunk_tokens: ChunkTokens = None,
    overlap: Overlap = None,
    strict: Strict = False,
    dry_run: DryRun = False,
    watch: Watch = False,
    remove: Remove = False,
    wait: Wait = None,
    model: Model = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Bring an index in step with folders of files: changed ones are replaced, removed ones leave.

    Unchanged files are not read. Options that are not given are as they were at the last sync of a folder.
    """
    from ..retriever import Retriever
    from ..retriever.jobs import is_unfinished

    given = folders or []
    others = (include, exclude, chunk_tokens, overlap, strict or None, dry_run or None, watch or None)
    if remove and (not given or any(one is not None for one in others)):
        raise InputError("--remove was given without a folder, or with another option: expected folders alone")
    if watch and dry_run:
        raise InputError("--watch and --dry-run were both given, expected one of them")
    wishes = make_wishes(include, exclude, chunk_tokens, overlap)
    with Retriever.open(folder, model) as retriever:
        if is_unfinished(retriever.collection):
            raise InputError(f"{folder} is not finished: run the same `asterism index` again, then sync")
        begin = time.perf_counter()
        if remove:
            report = retriever.forget(given, wait=wait)
        else:
            report = sync_folders(retriever, given, wishes, quiet, strict, wait, dry_run)
        _print_report(retriever, report, begin, as_json, quiet)
        if watch:
            _go_on(retriever, report.folders, wishes, wait, as_json, quiet)


def _go_on(
    retriever: Retriever,
    folders: tuple[str, ...],
    wishes: Wishes,
    wait: float | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Sync after every change, until Ctrl-C. What goes by, such as a folder that is away for a moment, ends nothing."""
    from ..documents.folders.names import unescape_name
    from ..retriever.syncing.watching import watch_folders

    paths = [unescape_name(folder) for folder in folders]
    print_note(f"watching {', '.join(folders)}: Ctrl-C ends it", quiet)
    patience = WATCH_PATIENCE if wait is None else wait
    for _ in watch_folders(paths, retriever.path):
        begin = time.perf_counter()
        try:
            report = _sync_in_turn(retriever, paths, wishes, patience)
        except InputError as error:
            print_error(str(error))
            continue
        if report.changed:
            _print_report(retriever, report, begin, as_json, quiet)


def _sync_in_turn(retriever: Retriever, folders: list[str], wishes: Wishes, patience: float) -> SyncReport:
    """Sync when other writers allow it, however long they take."""
    while True:
        try:
            return sync_folders(retriever, folders, wishes, True, wait=patience)
        except IndexBusy as error:
            print_error(str(error))
            time.sleep(BUSY)


def _print_report(retriever: Retriever, report: SyncReport, begin: float, as_json: bool, quiet: bool) -> None:
    seconds, documents = round(time.perf_counter() - begin, 2), len(retriever)
    if as_json:
        print_json({"path": str(retriever.path), "documents": documents, **report.to_json(), "seconds": seconds})
        sys.stdout.flush()  # with --watch, somebody may wait for the line
    else:
        print_files(report, quiet)
        print_note(f"{retriever.path}: {documents:,} documents, in {seconds:.1f} s", quiet)
