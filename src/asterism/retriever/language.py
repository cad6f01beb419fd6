"""The language of an index's words: found from its documents, as soon as they are enough to tell it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from ..collection.collection import Collection
from ..collection.writer import CollectionWriter
from ..documents.document import Document
from ..representations import Representations
from ..terms.languages import NONE, READ_DOCUMENTS, detect_language


def decide_language(
    collection: Collection,
    writer: CollectionWriter,
    batch: Sequence[Document],
    encode: Callable[[Sequence[Document]], Representations],
) -> None:
    """Look for the language in the documents of the index and a batch that is to be added.

    If it is clear, the words of the documents that are there are counted again, as its words, in a commit of their own,
    which gives them new numbers. If not, it stays open until there are as many documents as are ever looked at.
    """
    stored = list(islice(collection.documents(), READ_DOCUMENTS))
    language = detect_language([document.full_text for document in (*stored, *batch)])
    if language == NONE and len(stored) + len(batch) < READ_DOCUMENTS:
        return
    writer.decide_language(language)
    if stored and language != NONE:
        writer.exchange([document.id for document in stored], stored, encode(stored), {})
