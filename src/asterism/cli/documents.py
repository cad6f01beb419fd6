"""`asterism list DIR` and `asterism get DIR ID…`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from ..errors import InputError, UnknownDocument
from .inputs import parse_filter, read_ids
from .options import Filter, Folder, From, Ids, Json, Offset, describe_option
from .output import format_json, print_json, print_note, print_row, print_text
from .rankings import shorten_document

if TYPE_CHECKING:
    from ..documents.document import Document

AT_ONCE = 256  # documents in memory

Limit = Annotated[int | None, describe_option("-k", "--limit", help="How many documents at most.", default="all")]


def list_documents(
    folder: Folder, filter: Filter = None, offset: Offset = 0, limit: Limit = None, as_json: Json = False
) -> None:
    """List the ids and titles of documents, in the order in which they were added or last changed."""
    from ..retriever import Retriever
    from ..settings import check_whole_number

    wanted = parse_filter(filter)
    skipped = check_whole_number("--offset", offset, 0)
    most = None if limit is None else check_whole_number("--limit", limit, 0)
    found = False
    with Retriever.open(folder) as retriever:
        for document in retriever.collection.documents(wanted, skipped, most):
            found = True
            if as_json:
                print_json({"id": document.id, "title": document.title, "metadata": document.metadata})
            else:
                print_row(document.id, shorten_document(document))
        documents = len(retriever)
    if not found and limit != 0:
        after = f" after the first {skipped:,}" if skipped else ""
        what = f"no document{after} matches the filter" if wanted is not None else f"it has {documents:,} documents"
        print_note(f"nothing to list in {folder}: {what}")


def get(folder: Folder, ids: Ids = None, from_file: From = None, as_json: Json = False) -> None:
    """Show whole documents by their ids."""
    from ..retriever import Retriever
    from ..retriever.checks import is_id

    wanted = [*(ids or []), *(read_ids(from_file) if from_file is not None else [])]
    if not wanted:
        raise InputError("no ids were given, expected some: asterism get DIR ID..., or --from FILE")
    with Retriever.open(folder) as retriever:
        known = retriever.collection.known([id for id in wanted if is_id(id)])
        missing = next((id for id in wanted if id not in known), None)
        if missing is not None:  # before anything is printed
            raise UnknownDocument(f"there is no document with the id {missing!r} in {folder}: asterism list shows all")
        for start in range(0, len(wanted), AT_ONCE):
            for document in retriever.collection.get(wanted[start : start + AT_ONCE]):
                if as_json:
                    print_json(_to_json(document))
                else:
                    _print_whole(document)


def _to_json(document: Document) -> dict[str, Any]:
    return {"id": document.id, "title": document.title, "text": document.text, "metadata": document.metadata}


def _print_whole(document: Document) -> None:
    """Id, title and metadata, a line each, then the text and an empty line."""
    print_row("id", document.id)
    if document.title:
        print_row("title", document.title)
    if document.metadata:
        print_row("metadata", format_json(document.metadata))
    print_text(f"{document.text}\n")
