"""`asterism export DIR --to FILE`: the documents as a file that can be indexed again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from .inputs import parse_filter
from .options import Filter, Folder, Json, Quiet, describe_option
from .output import format_megabytes, print_json, print_note
from .progress import show_waiting

To = Annotated[
    Path, describe_option("--to", metavar="FILE", help="jsonl or jsonl.gz in BEIR form, or parquet, by its ending.")
]


def export(folder: Folder, to: To, filter: Filter = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """Write the documents to a file, as of one moment; `asterism index` reads JSON lines back."""
    from ..retriever import Retriever

    with Retriever.open(folder) as retriever, show_waiting(f"exporting {folder}", quiet):
        documents = retriever.export(to, filter=parse_filter(filter))
    size = to.stat().st_size
    if as_json:
        print_json({"path": str(to), "documents": documents, "bytes": size})
    else:
        print_note(f"{to}: {documents:,} documents, {format_megabytes(size)}", quiet)
