"""How much of a text a model can read, by its tokenizer alone: the model itself is not run.

A tokenizer spells words of a language that it was not made for letter by letter, or replaces them by one unknown
token; the model has then learned nothing about them.
"""

from __future__ import annotations

import unicodedata
from itertools import pairwise

from ..terms.characters import is_ideograph
from .spans import NOWHERE, place_tokens
from .tokens import TextRules, TextTokenizer

ENOUGH_IDEOGRAPHS = 2000  # single ideographs are words to a tokenizer that knows this many


class Readability:
    """Measures texts by one tokenizer."""

    def __init__(self, tokenizer: TextTokenizer, rules: TextRules) -> None:
        """Count the ideographs that the tokenizer knows."""
        self._tokenizer = tokenizer
        self._rules = rules
        self._reads_ideographs = tokenizer.count_ideographs() >= ENOUGH_IDEOGRAPHS

    def measure(self, text: str) -> float:
        """The share of tokens that are neither unknown nor single letters; 1 for a text without tokens."""
        ids, pieces = place_tokens(self._tokenizer, self._rules, text)
        unread = [
            number == self._tokenizer.unknown or self._is_lone_letter(text[slice(*piece)]) or piece == before
            for number, (before, piece) in zip(ids, pairwise([NOWHERE, *pieces]), strict=True)
            if piece != NOWHERE
        ]  # a piece that is repeated is one of the bytes of a character
        return 1 - sum(unread) / len(unread) if unread else 1.0

    def _is_lone_letter(self, piece: str) -> bool:
        if len(piece) != 1 or unicodedata.category(piece)[0] not in "LM":
            return False
        return not (self._reads_ideographs and is_ideograph(piece))
