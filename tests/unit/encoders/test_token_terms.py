"""A model's tokens as terms."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import asterism
from asterism.encoders.token_terms import count_tokens, find_token_terms
from asterism.encoders.tokens import TextRules, TextTokenizer
from tests import layouts


def test_tokens(tmp_path: Path) -> None:
    folder = layouts.colbert(tmp_path / "model")
    tokenizer, rules = TextTokenizer(folder), TextRules(8, prompt="dog: ", marker=1, windows=False)
    text = " Fox, dogs" + " fox" * 20
    weights = count_tokens(tokenizer, rules, [text, ""])
    spans = find_token_terms(tokenizer, rules, text)
    assert [(span.word, text[span.begin : span.end]) for span in spans[:4]] == [
        ("fox", "Fox"),
        (",", ","),
        ("dog", "dog"),
        ("##s", "s"),
    ]
    assert dict(zip(*(column.tolist() for column in weights[0]), strict=True)) == Counter(span.term for span in spans)
    assert weights[0][1].max() == 21
    assert weights.offsets.tolist() == [0, 4, 4]
    assert (weights.terms < tokenizer.vocabulary).all()


def test_tokens_of_a_loaded_model(tmp_path: Path) -> None:
    checkpoint = asterism.load_encoder(layouts.bge_m3(tmp_path / "model"))._checkpoint
    for text in layouts.TEXTS:
        terms, counts = count_tokens(checkpoint.tokenizer, checkpoint.document, [text])[0]
        spans = find_token_terms(checkpoint.tokenizer, checkpoint.document, text)
        assert dict(zip(terms.tolist(), counts.tolist(), strict=True)) == Counter(span.term for span in spans)
