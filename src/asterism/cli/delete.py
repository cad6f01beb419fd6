"""`asterism delete DIR ID…`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import InputError
from .terminal import STDIN, Folder, Json, Quiet, print_json, stdin_text, summary

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

    wanted = [*(ids or []), *_listed(from_file)]
    if not wanted:
        raise InputError("no ids were given, expected some: asterism delete DIR ID..., or --from FILE")
    with Retriever.open(folder) as retriever:
        deleted = retriever.delete(wanted, missing_ok=missing_ok)
        left = len(retriever)
    if as_json:
        print_json({"deleted": deleted, "documents": left})
    else:
        summary(f"{folder}: {deleted:,} deleted, {left:,} left", quiet)


def _listed(file: str | None) -> list[str]:
    if file is None:
        return []
    try:
        text = stdin_text() if file == STDIN else Path(file).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror}), expected a file with one id a line") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8 (byte {error.start}), expected a text file") from error
    return [line for line in (line.rstrip("\r") for line in text.split("\n")) if line]
