"""`asterism compact`, `check`, `repair`, `backup` and `info`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

from .options import Folder, Json, Model, Quiet, describe_argument
from .output import format_megabytes, make_console, print_json, print_note, print_row
from .progress import show_waiting
from .readability import warn_of_unreadable

NewFolder = Annotated[Path, describe_argument("TO", "The folder to create.")]


def compact(folder: Folder, as_json: Json = False, quiet: Quiet = False) -> None:
    """Merge segments, drop deleted documents, and train the codec again if the corpus outgrew it."""
    from ..retriever import Retriever

    with Retriever.open(folder) as retriever:
        before = retriever.info()["bytes"]
        retriever.compact()
        after = retriever.info()
    if as_json:
        print_json({**after, "bytes_before": before})
    else:
        print_note(f"{folder}: {format_megabytes(before)} -> {format_megabytes(after['bytes'])}", quiet)


def check(folder: Folder, as_json: Json = False, quiet: Quiet = False) -> None:
    """Read every file of an index and compare its checksums."""
    from ..retriever import Retriever

    with Retriever.open(folder) as retriever:
        retriever.check()
        documents = len(retriever)
    if as_json:
        print_json({"path": str(folder), "ok": True, "documents": documents})
    else:
        print_note(f"{folder}: all {documents:,} documents are intact", quiet)


def repair(folder: Folder, model: Model = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """Repair a damaged index: intact parts stay, the documents of damaged segments are encoded again."""
    from ..retriever import Retriever

    done = Retriever.repair(folder, model)
    with Retriever.open(folder, model) as retriever:
        retriever.check()
        documents = len(retriever)
    if as_json:
        damaged = {"catalog": done.catalog, "dropped": list(done.dropped)}
        counts = {"represented": done.represented, "lost": done.lost, "forgotten": list(done.forgotten)}
        print_json({"path": str(folder), "documents": documents, **damaged, **counts})
        return
    for name in done.forgotten:
        print_note(
            f"{folder}: forgot its {name} for hybrid search, which could not be read: run `asterism tune`", quiet
        )
    if not (done.catalog or done.dropped or done.represented or done.forgotten):
        print_note(f"{folder}: nothing was damaged, all {documents:,} documents are there", quiet)
        return
    damage = (
        ", ".join(["the catalog"] * done.catalog + [*done.dropped, *done.forgotten]) or "the list of deleted documents"
    )
    print_note(f"{folder}: repaired {damage}; {done.represented:,} documents were encoded again", quiet)
    lost = f"; {done.lost:,} were lost with their texts: add them again" if done.lost else ""
    print_note(f"{folder}: {documents:,} documents are there{lost}", quiet)


def backup(folder: Folder, to: NewFolder, as_json: Json = False, quiet: Quiet = False) -> None:
    """Copy an index to a new folder, also while others use it; every file of the copy is verified."""
    from ..retriever import Retriever

    with Retriever.open(folder) as retriever, show_waiting(f"copying {folder}", quiet):
        done = retriever.backup(to)
    if as_json:
        print_json({"path": str(to), "documents": done.documents, "bytes": done.bytes})
    else:
        print_note(f"{to}: {done.documents:,} documents, {format_megabytes(done.bytes)}", quiet)


def info(folder: Folder, as_json: Json = False) -> None:
    """Show the size, shape, model and health of an index."""
    from ..retriever import Retriever

    with Retriever.open(folder) as retriever:
        found = retriever.info()
    if as_json:
        print_json(found)
        return
    size = f"{found['bytes']:,} ({format_megabytes(found['bytes'])})"
    shares = ", ".join(f"{view} {share:.0%}" for view, share in (found["found"] or {}).items())
    shown = {**found, "bytes": size, "views": ", ".join(found["views"]), "found": shares or None}
    if not sys.stdout.isatty():
        for name, value in shown.items():
            print_row(name, value)
        _print_warning(found)
        return
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in shown.items():
        table.add_row(name, f"{value:,}" if isinstance(value, int) else str(value))
    make_console().print(table)
    _print_warning(found)


def _print_warning(found: dict[str, Any]) -> None:
    if warning := warn_of_unreadable(found["readable"]):
        print_note(warning)
