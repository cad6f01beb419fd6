"""A model's own tokens as terms, counted for BM25 where it has no lexical head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..representations import LexicalWeights
from ..terms.counting import TermSpan, count_terms
from ..terms.texts import check_texts
from .spans import place_tokens
from .tokens import TextRules, TextTokenizer


def count_tokens(tokenizer: TextTokenizer, rules: TextRules, texts: Sequence[str]) -> LexicalWeights:
    """Of each text its token ids as terms, and how often each is there.

    The whole text counts, however long; nothing is put around or before it.
    """
    check_texts(texts)
    return count_terms(np.array(encoding.ids, np.int64) for encoding in tokenizer.encode(texts, _remove_prompt(rules)))


def find_token_terms(tokenizer: TextTokenizer, rules: TextRules, text: str) -> list[TermSpan]:
    """One for each token that `count_tokens` counts, in the order of the text."""
    check_texts([text])
    ids, pieces = place_tokens(tokenizer, _remove_prompt(rules), text)
    return [TermSpan(number, tokenizer.find_token(number), *piece) for number, piece in zip(ids, pieces, strict=True)]


def _remove_prompt(rules: TextRules) -> TextRules:
    """Case stays as the model wants it; a prompt would be in every text."""
    return replace(rules, prompt="")
