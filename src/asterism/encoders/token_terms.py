"""A model's own tokens as terms, counted for BM25 if the model has no lexical head."""

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
    """The token ids of each text as terms, and how often each occurs.

    The whole text is counted, whatever its length, without special tokens and without a prompt.
    """
    check_texts(texts)
    return count_terms(np.array(encoding.ids, np.int64) for encoding in tokenizer.encode(texts, _remove_prompt(rules)))


def find_token_terms(tokenizer: TextTokenizer, rules: TextRules, text: str) -> list[TermSpan]:
    """One span for each token that `count_tokens` counts, in the order of the text."""
    check_texts([text])
    ids, pieces = place_tokens(tokenizer, _remove_prompt(rules), text)
    return [TermSpan(number, tokenizer.find_token(number), *piece) for number, piece in zip(ids, pieces, strict=True)]


def _remove_prompt(rules: TextRules) -> TextRules:
    """The same rules without the prompt, which would be in every text."""
    return replace(rules, prompt="")
