"""Documents that are added, updated and deleted in groups of five."""

from __future__ import annotations

import numpy as np

from asterism import TokenSearch, TokenVectors
from asterism.collection.collection import Collection
from asterism.documents.document import Document
from tests.conftest import make_query, tokens_only

D = 8
GROUP = 5


def put(collection: Collection, group: int, update: bool = False) -> None:
    """Five documents that share a group, in one batch."""
    documents = [Document(f"{group}-{i}", "text", metadata={"group": group}) for i in range(GROUP)]
    vectors = TokenVectors(make_query(D, GROUP * 3, group), np.arange(GROUP + 1) * 3)
    with collection.writing() as writer:
        writer.add(documents, tokens_only(vectors), update)


def remove(collection: Collection, group: int) -> None:
    with collection.writing() as writer:
        writer.delete([f"{group}-{i}" for i in range(GROUP)])


def compact(collection: Collection) -> None:
    with collection.writing() as writer:
        writer.compact()


def found(collection: Collection, group: int | None = None, method: str = "exact") -> list[str]:
    where = None if group is None else {"group": group}
    hits = collection.search(make_query(D, 3), 1000, TokenSearch(method=method), where)
    return sorted(document.id for document, _ in hits.documents)


def ids_of(*groups: int) -> list[str]:
    return sorted(f"{group}-{i}" for group in groups for i in range(GROUP))
