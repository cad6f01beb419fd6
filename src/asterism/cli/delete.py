"""`asterism delete DIR ID…`."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import InputError
from .inputs import listed
from .options import Folder, Json, Quiet
from .output import print_json, print_note

Ids = Annotated[list[str] | None, typer.Argument(metavar="ID", help="Which documents.", show_default=False)]
From = Annotated[
    str | None, typer.Option("--from", metavar="FILE", help="One id a line; - for stdin.", show_default=False)
]
Missing = Annotated[bool, typer.Option("--missing-ok", help="Ids that do not exist are no error.")]


def delete(
    folder: Folder,
    ids: Ids = None,
    from_file: From = None,
    missing_ok: Missing = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Delete documents by their ids."""
    from ..retriever import Retriever

    wanted = [*(ids or []), *(listed(from_file) if from_file is not None else [])]
    if not wanted:
        raise InputError("no ids were given, expected some: asterism delete DIR ID..., or --from FILE")
    with Retriever.open(folder) as retriever:
        deleted = retriever.delete(wanted, missing_ok=missing_ok)
        left = len(retriever)
    if as_json:
        print_json({"deleted": deleted, "documents": left})
    else:
        print_note(f"{folder}: {deleted:,} deleted, {left:,} left", quiet)
