"""Documents of LangChain and of an index."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.documents import Document as LangChainDocument

from ...documents.document import Document
from ...errors import InputError
from ..metadata import collect_metadata


def to_langchain(document: Document, **more: Any) -> LangChainDocument:
    """A document with its id, its text, and its metadata, to which `more` are added."""
    return LangChainDocument(
        id=document.id, page_content=document.text, metadata={**collect_metadata(document), **more}
    )


def make_documents(
    texts: Iterable[str],
    metadatas: Sequence[Mapping[str, Any] | None] | None,
    ids: Sequence[str | None] | None,
) -> list[Document]:
    """Texts (n,), their metadata and ids, if there are any -> (n,); a text without an id gets a new one."""
    if isinstance(texts, str):
        raise InputError("texts is a str, expected a list of them")
    kept = list(texts)
    for name, values in (("metadatas", metadatas), ("ids", ids)):
        if values is not None and len(values) != len(kept):
            raise InputError(f"{len(kept)} texts and {len(values)} {name} were given, expected as many")
    given = ids or [None] * len(kept)
    about = metadatas or [None] * len(kept)
    return [
        Document(str(uuid.uuid4()) if id is None else id, text, "", dict(metadata or {}))
        for text, metadata, id in zip(kept, about, given, strict=True)
    ]
