"""The documents of an index, and what can be done with them without a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..collection.collection import Collection
from ..collection.kept_views import Views
from ..documents.document import Document
from .checks import check_id, check_ids, is_id
from .cross_tables import CrossTables, drop_deleted_rows
from .info import describe_index, describe_profile
from .jobs import is_unfinished
from .repair import check_search_facts


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

    def documents(self, filter: Mapping[str, Any] | None = None) -> Iterator[Document]:
        """The documents that match a filter, in the order in which they were added; all without one."""
        return self._collection.documents(filter)

    @property
    def path(self) -> Path:
        """The folder of the index."""
        return self._collection.path

    @property
    def collection(self) -> Collection:
        """The documents and views on disk."""
        return self._collection

    def delete(self, ids: Iterable[str], *, missing_ok: bool = False, wait: float | None = None) -> int:
        """Delete documents; returns how many. An id that does not exist is an error, and nothing is deleted.

        wait: seconds to wait for another writer to end, before IndexBusy; None for one.
        """
        wanted = check_ids(ids)
        with self._collection.writing(wait) as writer:
            return writer.delete(wanted, missing_ok)

    def get(self, id: str) -> Document:
        """The document with this id; UnknownDocument if there is none."""
        check_id(id)
        return self._collection.get([id])[0]

    def get_many(self, ids: Iterable[str], *, missing_ok: bool = False) -> list[Document]:
        """The documents with these ids, in their order. An id that does not exist is an error, or else is left out."""
        return self._collection.get(check_ids(ids), missing_ok)

    def compact(self) -> None:
        """Merge all segments into one, drop deleted documents, and retrain the codec if the corpus outgrew it."""
        with self._collection.writing() as writer:
            writer.compact()
        drop_deleted_rows(self._collection)

    def check(self) -> None:
        """Read every file and compare its checksum; raises DamagedIndex for the first that is wrong."""
        self._collection.check()
        check_search_facts(self._collection)
        CrossTables.open(self._collection).verify()

    def info(self) -> dict[str, Any]:
        """Size, shape, model and health of the index."""
        unfinished = {"unfinished": is_unfinished(self._collection)}
        return {**describe_index(self._collection, self._views), **describe_profile(self._collection), **unfinished}
