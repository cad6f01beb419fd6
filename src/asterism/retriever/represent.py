"""Encodes texts into the views of an index: with the model, and with counted terms if it has no term weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..collection.kept_views import Views
from ..documents.document import Document
from ..representations import LexicalWeights, Representations, TokenVectors
from ..representations.pooling import pool_vectors
from ..settings import View
from ..terms.counting import count_query_words, count_words

if TYPE_CHECKING:  # onnxruntime is loaded when the first text is encoded
    from ..encoders.encoder import Encoder

Progress = Callable[[int], None]
Side = Literal["document", "query"]


def encode_views(
    texts: Sequence[str],
    side: Side,
    views: Views,
    wanted: Sequence[View],
    encoder: Callable[[], Encoder],
    progress: Progress | None = None,
) -> Representations:
    """The wanted views of some texts; the model is loaded only if a view needs it."""
    from_model = [view for view in wanted if view != "lexical" or not views.counted]
    if from_model:
        encode = encoder().encode_document if side == "document" else encoder().encode_query
        found = encode(texts, views=from_model, progress=progress)
    else:
        found = Representations(len(texts))
        if progress:
            progress(len(texts))
    if side == "document":
        found = _erase_empty(texts, found, views)
    if side == "document" and views.most_vectors and found.multi is not None:
        found = replace(found, multi=pool_vectors(found.multi, views.most_vectors))
    if side == "query" and from_model and len(wanted) > 1:  # to fuse views by how far the model is to be trusted
        found = replace(found, readable=encoder().measure_readable(texts))
    if "lexical" in wanted and views.counted:
        found = replace(found, lexical=_count_terms(texts, side, views, encoder))
    return found


def _erase_empty(texts: Sequence[str], found: Representations, views: Views) -> Representations:
    """A model gives an empty text vectors too: zeros instead, which no search finds, and no token vectors.

    Where every document has the same number of token vectors, an empty one keeps them.
    """
    full = np.array([bool(text.strip()) for text in texts], bool)
    if full.all():
        return found
    dense = None if found.dense is None else np.where(full[:, None], found.dense, np.float32(0))
    multi = found.multi
    if multi is not None and views.multi is not None and not views.multi.fixed:
        lengths = np.diff(multi.offsets)
        kept = multi.flat[np.repeat(full, lengths)]
        multi = TokenVectors(kept, np.concatenate([[0], np.cumsum(np.where(full, lengths, 0))]))
    return replace(found, dense=dense, multi=multi)


def encode_batch(
    batch: Sequence[Document], views: Views, encoder: Callable[[], Encoder], progress: Progress | None, done: int
) -> Representations:
    """All views of some documents; `progress` is told their number in addition to those `done` before."""
    texts = [document.full_text for document in batch]
    show = None if progress is None else lambda count: progress(done + count)
    return encode_views(texts, "document", views, views.names, encoder, show)


def _count_terms(texts: Sequence[str], side: Side, views: Views, encoder: Callable[[], Encoder]) -> LexicalWeights:
    if views.lexical == "tokens":
        return encoder().count_tokens(texts)
    count = count_words if side == "document" else count_query_words
    return count(texts, views.language)


def needs_model(views: Views, wanted: Sequence[View]) -> bool:
    """Whether a model must be loaded; words are counted without one."""
    return any(view != "lexical" or views.lexical != "words" for view in wanted)
