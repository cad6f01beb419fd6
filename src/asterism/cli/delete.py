"""`asterism delete DIR ID…`, or by a filter."""

from __future__ import annotations

from typing import Annotated, Any

from ..errors import InputError
from .inputs import parse_filter, read_ids
from .options import Filter, Folder, From, Ids, Json, Quiet, Wait, describe_option
from .output import print_json, print_note

Missing = Annotated[bool, describe_option("--missing-ok", help="Ignore ids that do not exist.")]
DryRun = Annotated[bool, describe_option("--dry-run", help="Only say how many would be deleted.")]


def delete(
    folder: Folder,
    ids: Ids = None,
    from_file: From = None,
    filter: Filter = None,
    missing_ok: Missing = False,
    dry_run: DryRun = False,
    wait: Wait = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Delete documents by their ids, or all that match a filter."""
    from ..retriever import Retriever
    from ..retriever.choice import Choice

    wanted, matching = choose_documents("delete", ids, from_file, filter)
    with Retriever.open(folder) as retriever:
        if dry_run:
            chosen = Choice.from_request(wanted, matching)
            deleted = len(chosen.find(retriever.collection, missing_ok, "deleted"))
            left = len(retriever) - deleted
        else:
            deleted = retriever.delete(wanted, filter=matching, missing_ok=missing_ok, wait=wait)
            left = len(retriever)
    if as_json:
        print_json({"deleted": deleted, "documents": left, "dry_run": dry_run})
    else:
        would = "would be " if dry_run else ""
        print_note(f"{folder}: {deleted:,} {would}deleted, {left:,} {would}left", quiet)


def choose_documents(
    command: str, ids: list[str] | None, from_file: str | None, filter: str | None
) -> tuple[list[str] | None, dict[str, Any] | None]:
    """Ids, from arguments and a file, or a filter; one of them."""
    wanted = [*(ids or []), *(read_ids(from_file) if from_file is not None else [])]
    if bool(wanted) == (filter is not None):
        given = "both ids and --filter" if wanted else "no ids"
        expected = f"expected some: asterism {command} DIR ID..., or --from FILE, or --filter JSON"
        raise InputError(f"{given} were given, {'expected one of them' if wanted else expected}")
    return (None, parse_filter(filter)) if filter is not None else (wanted, None)
