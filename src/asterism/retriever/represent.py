"""Encodes texts into the views of an index: with the model, and with counted terms if it has no term weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from ..collection.kept_views import Views
from ..representations import Representations
from ..representations.pooling import pool_vectors
from ..settings import View
from ..terms.counting import count_words

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
    if side == "document" and views.most_vectors and found.multi is not None:
        found = replace(found, multi=pool_vectors(found.multi, views.most_vectors))
    if side == "query" and from_model and len(wanted) > 1:  # to fuse views by how far the model is to be trusted
        found = replace(found, readable=encoder().measure_readable(texts))
    if "lexical" in wanted and views.counted:
        counted = count_words(texts) if views.lexical == "words" else encoder().count_tokens(texts)
        found = replace(found, lexical=counted)
    return found


def needs_model(views: Views, wanted: Sequence[View]) -> bool:
    """Whether a model must be loaded; words are counted without one."""
    return any(view != "lexical" or views.lexical != "words" for view in wanted)
