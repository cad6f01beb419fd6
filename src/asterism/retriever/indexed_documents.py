"""The documents of an index, and what can be done with them without a model."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..collection.collection import Collection
from ..collection.kept_views import Views
from ..collection.metadata_changes import MetadataChange
from ..documents.document import Document
from ..settings import check_whole_number
from .backup import Backup, back_up, check_whole_index
from .checks import check_id, check_ids, check_path, is_id
from .choice import Choice
from .cross_tables import carry_over, drop_deleted_rows
from .exporting import export_documents
from .info import describe_index, describe_profile
from .jobs import is_unfinished


class IndexedDocuments:
    """The base of Retriever: an open index, without encoding and searching."""

    def __init__(self, collection: Collection) -> None:
        """Use `Retriever.create` or `Retriever.open`."""
        self._collection = collection

    @property
    def _views(self) -> Views:
        return self._collection.views()

    def close(self) -> None:
        """Close the files; an index without references is closed automatically."""
        self._collection.close()

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def __repr__(self) -> str:
        """The folder, and how many documents it had when it was last read."""
        return repr(self._collection).replace("Collection", type(self).__name__, 1)

    def __len__(self) -> int:
        """Number of documents."""
        return self._collection.snapshot().state.documents

    def __contains__(self, id: object) -> bool:
        """Whether there is a document with this id."""
        return isinstance(id, str) and is_id(id) and bool(self._collection.known([id]))

    def __iter__(self) -> Iterator[Document]:
        """All documents, in the order in which they were added."""
        return self._collection.documents()

    @property
    def path(self) -> Path:
        """The folder of the index."""
        return self._collection.path

    @property
    def collection(self) -> Collection:
        """The documents and views on disk."""
        return self._collection

    def delete(
        self,
        ids: Iterable[str] | None = None,
        *,
        filter: Mapping[str, Any] | None = None,
        missing_ok: bool = False,
        wait: float | None = None,
    ) -> int:
        """Delete documents by their ids, or all that match a filter; returns how many.

        An id that does not exist is an error, and nothing is deleted; with `missing_ok` it is ignored.
        wait: seconds to wait for another writer to end, before IndexBusy; None for one.
        """
        chosen = Choice.from_request(ids, filter)
        with self._collection.writing(wait) as writer:
            return writer.delete_numbers(chosen.find(self._collection, missing_ok, "deleted").tolist())

    def set_metadata(
        self,
        metadata: Mapping[str, Any],
        ids: Iterable[str] | None = None,
        *,
        filter: Mapping[str, Any] | None = None,
        replace: bool = False,
        wait: float | None = None,
    ) -> int:
        """Change the metadata of documents, by ids or by filter, without encoding them again; returns how many changed.

        All change or none. The given keys are set, those with None are removed, objects are merged, all other keys stay
        (a JSON merge patch, RFC 7396); with `replace` the given ones take the place of all, and None is a value. What
        says where in a file a passage comes from (`file`, `place`, `format`, `lines`, `page`) stays: a change of it is
        an error. The segments that hold the documents are read and verified, so change many in one call.
        wait: seconds to wait for another writer to end, before IndexBusy; None for one.
        """
        change, chosen = MetadataChange(metadata, replace), Choice.from_request(ids, filter)
        with self._collection.writing(wait) as writer:
            moved = writer.change_metadata(chosen.find(self._collection, False, "changed"), change)
            if len(moved):
                carry_over(self._collection, moved)
                writer.settle()
        return len(moved)

    def list(
        self, *, filter: Mapping[str, Any] | None = None, offset: int = 0, limit: int | None = None
    ) -> builtins.list[Document]:
        """Documents that match a filter, in the order in which they were added or last changed.

        offset: how many to leave out at the beginning · limit: how many at most; None for all.
        """
        skipped = check_whole_number("offset", offset, 0)
        most = None if limit is None else check_whole_number("limit", limit, 0)
        return builtins.list(self._collection.documents(filter, skipped, most))

    def export(self, path: str | os.PathLike[str], *, filter: Mapping[str, Any] | None = None) -> int:
        """Write the documents to a .jsonl, .jsonl.gz or .parquet file, as of one moment; returns how many."""
        check_path(path)
        return export_documents(self._collection, Path(path), filter)

    def backup(self, path: str | os.PathLike[str]) -> Backup:
        """Copy the index to a new folder while others may read and write it: one committed state, verified.

        On the same file system, files that never change are shared (hard links).
        """
        check_path(path)
        return back_up(self._collection, Path(path))

    def get(self, id: str) -> Document:
        """The document with this id; UnknownDocument if there is none."""
        check_id(id)
        return self._collection.get([id])[0]

    def get_many(self, ids: Iterable[str], *, missing_ok: bool = False) -> builtins.list[Document]:
        """The documents with these ids, in their order. An id that does not exist is an error, or else is left out."""
        return self._collection.get(check_ids(ids), missing_ok)

    def compact(self) -> None:
        """Merge all segments into one, drop deleted documents, and retrain the codec if the corpus outgrew it."""
        with self._collection.writing() as writer:
            writer.compact()
        drop_deleted_rows(self._collection)

    def check(self) -> None:
        """Read every file and compare its checksum; raises DamagedIndex for the first that is wrong."""
        check_whole_index(self._collection)

    def info(self) -> dict[str, Any]:
        """Size, shape, model and health of the index."""
        unfinished = {"unfinished": is_unfinished(self._collection)}
        return {**describe_index(self._collection, self._views), **describe_profile(self._collection), **unfinished}
