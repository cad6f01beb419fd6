"""Texts in the views of an index: what the model gives, and counted terms where it gives no weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from ..collection.kept_views import Views
from ..representations import LexicalWeights, Representations
from ..representations.pooling import pool_vectors
from ..settings import View
from ..terms.counting import count_words

if TYPE_CHECKING:  # onnxruntime is loaded when the first text is encoded
    from ..encoders.encoder import Encoder

Progress = Callable[[int], None]
Side = Literal["document", "query"]


def represented(
    texts: Sequence[str],
    side: Side,
    views: Views,
    wanted: Sequence[View],
    encoder: Callable[[], Encoder],
    progress: Progress | None = None,
) -> Representations:
    """The wanted views of some texts; the model is asked for only if one of them needs it."""
    from_model = _from_model(views, wanted)
    if from_model:
        encode = encoder().encode_document if side == "document" else encoder().encode_query
        found = encode(texts, views=from_model, progress=progress)
    else:
        found = Representations(len(texts))
        if progress:
            progress(len(texts))
    if side == "document" and found.multi is not None:
        found = replace(found, multi=pool_vectors(found.multi, views.most_vectors))
    if "lexical" in wanted and views.counted:
        found = replace(found, lexical=_counted(texts, views, encoder))
    return found


def needs_model(views: Views, wanted: Sequence[View]) -> bool:
    """Words are counted without one."""
    return bool(_from_model(views, wanted)) or ("lexical" in wanted and views.lexical == "tokens")


def _from_model(views: Views, wanted: Sequence[View]) -> list[View]:
    return [view for view in wanted if view != "lexical" or views.lexical == "model"]


def _counted(texts: Sequence[str], views: Views, encoder: Callable[[], Encoder]) -> LexicalWeights:
    return count_words(texts) if views.lexical == "words" else encoder().count_tokens(texts)
