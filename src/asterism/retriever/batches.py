"""Splits documents from any iterable into the batches that are committed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from ..collection.policy import Policy
from ..documents.document import Document
from ..errors import DocumentError


def split_batches(documents: Iterable[Document], policy: Policy) -> Iterator[list[Document]]:
    """Batches of a few hundred documents, fewer if they are long."""
    if isinstance(documents, Document | str | bytes) or not isinstance(documents, Iterable):
        raise DocumentError(f"a {type(documents).__name__} was given, expected several documents: put it into a list")
    rest = _read(documents)
    while True:
        batch: list[Document] = []
        characters = 0
        for document in islice(rest, policy.batch_documents):
            if not isinstance(document, Document):
                raise DocumentError(f"a {type(document).__name__} was given, expected asterism.Document(id=, text=)")
            batch.append(document)
            characters += len(document.text)
            if characters >= policy.batch_characters:
                break
        if not batch:
            return
        yield batch


def _read(documents: Iterable[Document]) -> Iterator[Document]:
    """Raise DocumentError for an OSError of the iterable, so that it is not taken for an error of the index."""
    try:
        yield from documents
    except OSError as error:
        raise DocumentError(f"the documents cannot be read further: {error}") from error
