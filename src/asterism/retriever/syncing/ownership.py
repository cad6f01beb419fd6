"""Whose a document is: a passage of a file, or one that somebody gave such an id.

What the index remembers of a file says how many passages it has, and so their ids. Of other ids, which a file has while
it is half read or if its fact is lost, the metadata decide.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...collection.catalog_reader import AT_ONCE, CatalogReader
from ...collection.collection import Collection
from ...documents.document import Document
from ...documents.folders.names import find_owner, make_stem, split_passage_id
from ...errors import DocumentError

Places = dict[str, list[int]]  # stem -> places of passages


def sort_ids(reader: CatalogReader, ids: Iterable[str], passages: Mapping[str, int]) -> tuple[Places, set[str]]:
    """The passages of files, and the ids that are not theirs; `passages`: how many a file has, by its stem."""
    held: Places = defaultdict(list)
    foreign, doubtful = set(), []
    for id in ids:
        stem, place = split_passage_id(id)
        if not place:
            foreign.add(id)
        elif place <= passages.get(stem, 0):
            held[stem].append(place)
        else:
            doubtful.append(id)
    for id, file in _read_files(reader, doubtful):
        stem, place = split_passage_id(id)
        if isinstance(file, str) and make_stem(file) == stem:
            held[stem].append(place)
        else:
            foreign.add(id)
    return dict(held), foreign


def refuse_passages(documents: Iterable[Document], folders: Sequence[str]) -> None:
    """Refuse ids of passages of the index's folders: only files decide what these say."""
    for document in documents:
        if (name := find_owner(document.id, folders)) is not None:
            raise DocumentError(explain_owner(document.id, name))


def explain_owner(id: str, folder: str) -> str:
    """Why nobody else may use an id."""
    advice = "choose another id, or `asterism sync DIR` if the file changed"
    return f"the id {id!r} is kept for a passage of the folder {folder!r} of the index: {advice}"


def find_stale_ids(collection: Collection, passages: Mapping[str, int]) -> list[str]:
    """The ids of passages that single files do not have any more; `passages`: how many each has, by its name."""
    stale = []
    with collection.reading() as reader:
        for file, count in passages.items():
            stem = make_stem(file)
            held, _ = sort_ids(reader, reader.iterate_ids(f"{stem}#"), {})
            stale += [f"{stem}#{place}" for place in held.get(stem, ()) if place > count]
    return stale


def _read_files(reader: CatalogReader, ids: Sequence[str]) -> Iterator[tuple[str, object]]:
    """Each id with the file that its document's metadata name."""
    for start in range(0, len(ids), AT_ONCE):  # their texts may be larger than memory
        numbers = reader.find_numbers(ids[start : start + AT_ONCE])
        for document in reader.documents(list(numbers.values())).values():
            yield document.id, document.metadata.get("file")
