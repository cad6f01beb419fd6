"""`asterism delete DIR ID…`."""

from __future__ import annotations

from typing import Annotated

from ..errors import InputError
from .inputs import read_ids
from .options import Folder, Json, Quiet, describe_argument, describe_option
from .output import print_json, print_note

Ids = Annotated[list[str] | None, describe_argument("ID", "The documents' ids.")]
From = Annotated[str | None, describe_option("--from", metavar="FILE", help="A file with one id a line; - for stdin.")]
Missing = Annotated[bool, describe_option("--missing-ok", help="Ignore ids that do not exist.")]


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

    wanted = [*(ids or []), *(read_ids(from_file) if from_file is not None else [])]
    if not wanted:
        raise InputError("no ids were given, expected some: asterism delete DIR ID..., or --from FILE")
    with Retriever.open(folder) as retriever:
        deleted = retriever.delete(wanted, missing_ok=missing_ok)
        left = len(retriever)
    if as_json:
        print_json({"deleted": deleted, "documents": left})
    else:
        print_note(f"{folder}: {deleted:,} deleted, {left:,} left", quiet)
