"""Queries that are longer than the views can search: their beginnings are searched, with a warning."""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Callable, Sequence

import numpy as np

from ..errors import QueryCut
from ..representations import Representations
from ..settings import View
from ..views.lexical.searcher import LONGEST_QUERY as MOST_TERMS
from ..views.tokens.searcher import LONGEST_QUERY as MOST_VECTORS

MOST_CHARACTERS = 100_000
MOST_OF_TOKENS = 16 * MOST_VECTORS  # characters, where token vectors are searched: more would be encoded in vain
SAFETY = 0.9  # of the share that would fit if vectors and terms were spread evenly over the text


def encode_or_cut(
    queries: Sequence[str], views: Sequence[View], encode: Callable[[Sequence[str]], Representations]
) -> tuple[list[str], Representations]:
    """The queries as they are searched, and their representations; a QueryCut warning for each that was cut."""
    most = MOST_OF_TOKENS if "multi" in views else MOST_CHARACTERS
    texts = [query if len(query) <= most else query.lstrip()[:most] for query in queries]
    encoded = encode(texts)
    while too_long := _find_too_long(encoded):
        texts = [text[: int(SAFETY * too_long.get(i, 1 / SAFETY) * len(text))] for i, text in enumerate(texts)]
        encoded = encode(texts)
    for query, text in zip(queries, texts, strict=True):
        if len(text) < len(query):
            searched = f"the first {len(text):,} of its {len(query):,} characters are searched"
            warnings.warn(f"the query {reprlib.repr(query)} is too long: {searched}", QueryCut, stacklevel=2)
    return texts, encoded


def _find_too_long(encoded: Representations) -> dict[int, float]:
    """Query -> the share of it that fits, for those that have too many token vectors or terms."""
    shares = np.ones(len(encoded))
    for view, most in ((encoded.multi, MOST_VECTORS), (encoded.lexical, MOST_TERMS)):
        if view is not None:
            shares = np.minimum(shares, most / np.maximum(np.diff(view.offsets), 1))
    return {int(query): float(shares[query]) for query in np.flatnonzero(shares < 1)}
