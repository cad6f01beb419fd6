"""`asterism set-metadata DIR JSON ID…`, or by a filter."""

from __future__ import annotations

from typing import Annotated

from .delete import choose_documents
from .inputs import parse_object
from .options import Filter, Folder, From, Ids, Json, Quiet, Wait, describe_argument, describe_option
from .output import print_json, print_note
from .progress import show_waiting

Values = Annotated[
    str,
    describe_argument("JSON", 'What to set: {"lang": "en", "draft": null}. A null removes the key, others stay.'),
]
Replace = Annotated[bool, describe_option("--replace", help="Put the object in the place of all metadata.")]


def set_metadata(
    folder: Folder,
    values: Values,
    ids: Ids = None,
    from_file: From = None,
    filter: Filter = None,
    replace: Replace = False,
    wait: Wait = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Change the metadata of documents, by ids or by filter, without encoding them again."""
    from ..retriever import Retriever

    wanted, matching = choose_documents("set-metadata", ids, from_file, filter)
    given = parse_object(values, "the metadata", '{"lang": "en"}')
    with Retriever.open(folder) as retriever, show_waiting("changing metadata", quiet):
        changed = retriever.set_metadata(given, wanted, filter=matching, replace=replace, wait=wait)
        documents = len(retriever)
    if as_json:
        print_json({"changed": changed, "documents": documents})
    else:
        print_note(f"{folder}: {changed:,} of {documents:,} documents changed", quiet)
