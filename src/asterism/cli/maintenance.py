"""`asterism compact`, `check` and `info`."""

from __future__ import annotations

import sys

from .options import Folder, Json, Quiet
from .output import megabytes, print_json, print_note, print_row, terminal


def compact(folder: Folder, as_json: Json = False, quiet: Quiet = False) -> None:
    """Merge segments, drop what was deleted, and train the codec again if the corpus outgrew it."""
    from ..retriever import Retriever

    with Retriever.open(folder) as retriever:
        before = retriever.info()["bytes"]
        retriever.compact()
        after = retriever.info()
    if as_json:
        print_json({**after, "bytes_before": before})
    else:
        print_note(f"{folder}: {megabytes(before)} -> {megabytes(after['bytes'])}", quiet)


def check(folder: Folder, as_json: Json = False, quiet: Quiet = False) -> None:
    """Read every file of an index and compare its checksum."""
    from ..retriever import Retriever

    with Retriever.open(folder) as retriever:
        retriever.check()
        documents = len(retriever)
    if as_json:
        print_json({"path": str(folder), "ok": True, "documents": documents})
    else:
        print_note(f"{folder}: all {documents:,} documents are as they were written", quiet)


def info(folder: Folder, as_json: Json = False) -> None:
    """Size, shape, model and health of an index."""
    from ..retriever import Retriever

    with Retriever.open(folder) as retriever:
        found = retriever.info()
    if as_json:
        print_json(found)
        return
    size = f"{found['bytes']:,} ({megabytes(found['bytes'])})"
    shown = {**found, "bytes": size, "views": ", ".join(found["views"])}
    if not sys.stdout.isatty():
        for name, value in shown.items():
            print_row(name, value)
        return
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in shown.items():
        table.add_row(name, f"{value:,}" if isinstance(value, int) else str(value))
    terminal().print(table)
