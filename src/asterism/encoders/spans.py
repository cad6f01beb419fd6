"""Which piece of a text each token vector stands for, told without running the model."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..terms.texts import check_texts
from .assembling import Side, find_places_with_vector
from .batching import make_batches
from .tokens import TextRules, TextTokenizer, find_origins, make_rows

Piece = tuple[int, int]

NOWHERE: Piece = (-1, -1)
WORD_BEGINS = "▁Ġ"  # how Metaspace and byte-level tokenizers write the space before a word


@dataclass(frozen=True)
class TokenSpan:
    """The token of a vector, and text[begin:end] that it stands for.

    token   the tokenizer's own string: "##ing", "▁the", "[CLS]"
    begin   in characters of the text as it was given; begin == end == -1 for a token that is not of the text: special
    end     ones, markers, fillers, those of a prompt, a space that the tokenizer puts before a word by itself
    """

    token: str
    begin: int
    end: int


def find_token_spans(tokenizer: TextTokenizer, side: Side, text: str, cls_every: int = 0) -> list[TokenSpan]:
    """One for each vector of `text`, in order."""
    check_texts([text])
    found, own = place_tokens(tokenizer, side.rules, text)
    ids, frame = np.array(found, np.int64), tokenizer.make_frame(side.rules)
    rows, _ = make_rows(0, ids, frame, side.rules, cls_every)
    places, _ = make_rows(0, np.arange(len(ids)), frame.blank_out(), side.rules, cls_every)
    pieces = [*own, NOWHERE]  # the last for place -1
    spans = []
    for row, place in zip(rows, places, strict=True):
        (batch,) = make_batches([row], 1)
        for i in np.flatnonzero(find_places_with_vector(side, batch)[0]):
            spans.append(TokenSpan(tokenizer.find_token(int(row.ids[i])), *pieces[place.ids[i]]))
    return spans


def place_tokens(tokenizer: TextTokenizer, rules: TextRules, text: str) -> tuple[list[int], list[Piece]]:
    """ids (tokens,) of a text without its frame, and the piece of `text` that each stands for."""
    encoding = tokenizer.encode_with_offsets(text, rules)
    tokens = [tokenizer.find_token(number) for number in encoding.ids]
    return encoding.ids, list(_find_pieces(text, tokens, encoding.offsets, find_origins(text, rules)))


def _find_pieces(text: str, tokens: list[str], offsets: list[Piece], origin: list[int]) -> Iterator[Piece]:
    """Of each token: offsets in the prepared text to those in `text`, by the origin of each prepared character."""
    claimed = [_find_claimed(origin[begin:end]) for begin, end in offsets]
    free = np.ones(len(text), bool)
    for begin, end in claimed:
        free[max(begin, 0) : max(end, 0)] = False
    for token, ((begin, end), (following, _)) in zip(tokens, pairwise([*claimed, NOWHERE]), strict=True):
        # A space that the tokenizer puts before a word claims the first character of the word.
        if begin < 0 or (begin == following and not token.strip(WORD_BEGINS)):
            yield NOWHERE
            continue
        piece = text[begin:end]
        if not piece.isspace():  # the space before a word is not the word
            begin += len(piece) - len(piece.lstrip())
        while end < len(text) and free[end] and unicodedata.category(text[end]).startswith("M"):
            end += 1  # an accent that the tokenizer drops belongs to its letter
        yield begin, end


def _find_claimed(origin: list[int]) -> Piece:
    """From the first to the last character that is the text's."""
    own = [place for place in origin if place >= 0]
    return (own[0], own[-1] + 1) if own else NOWHERE
