"""Which piece of a text each token vector stands for; the model itself is not run."""

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
    """The token of a vector, and the piece text[begin:end] that it stands for.

    token   the tokenizer's own string: "##ing", "▁the", "[CLS]"
    begin   in characters of the given text; begin == end == -1 for a token that is not part of the text: special
    end     tokens, markers, fillers, a prompt's tokens, a space that the tokenizer itself puts before a word
    """

    token: str
    begin: int
    end: int


def find_token_spans(tokenizer: TextTokenizer, side: Side, text: str, cls_every: int = 0) -> list[TokenSpan]:
    """One span for each vector of `text`, in order."""
    check_texts([text])
    found, own = place_tokens(tokenizer, side.rules, text)
    ids, frame = np.array(found, np.int64), tokenizer.make_frame(side.rules)
    rows, _ = make_rows(0, ids, frame, side.rules, cls_every)
    places, _ = make_rows(0, np.arange(len(ids)), frame.blank_out(), side.rules, cls_every)
    pieces = [*own, NOWHERE]  # place -1 is the last one
    spans = []
    for row, place in zip(rows, places, strict=True):
        (batch,) = make_batches([row], 1)
        for i in np.flatnonzero(find_places_with_vector(side, batch)[0]):
            spans.append(TokenSpan(tokenizer.find_token(int(row.ids[i])), *pieces[place.ids[i]]))
    return spans


def place_tokens(tokenizer: TextTokenizer, rules: TextRules, text: str) -> tuple[list[int], list[Piece]]:
    """ids (tokens,) of a text without special tokens, and the piece of `text` that each stands for."""
    encoding = tokenizer.encode_with_offsets(text, rules)
    tokens = [tokenizer.find_token(number) for number in encoding.ids]
    return encoding.ids, list(_find_pieces(text, tokens, encoding.offsets, find_origins(text, rules)))


def _find_pieces(text: str, tokens: list[str], offsets: list[Piece], origin: list[int]) -> Iterator[Piece]:
    """The piece of each token: offsets in the prepared text to offsets in `text`, by the origin of each character."""
    claimed = [_find_claimed(origin[begin:end]) for begin, end in offsets]
    free = np.ones(len(text), bool)
    for begin, end in claimed:
        free[max(begin, 0) : max(end, 0)] = False
    for token, ((begin, end), (following, _)) in zip(tokens, pairwise([*claimed, NOWHERE]), strict=True):
        # A space that the tokenizer puts before a word has the offsets of the word's first character.
        if begin < 0 or (begin == following and not token.strip(WORD_BEGINS)):
            yield NOWHERE
            continue
        piece = text[begin:end]
        if not piece.isspace():  # the space before a word is not part of it
            begin += len(piece) - len(piece.lstrip())
        while end < len(text) and free[end] and unicodedata.category(text[end]).startswith("M"):
            end += 1  # an accent that the tokenizer drops belongs to its letter
        yield begin, end


def _find_claimed(origin: list[int]) -> Piece:
    """From the first to the last character that comes from the text."""
    own = [place for place in origin if place >= 0]
    return (own[0], own[-1] + 1) if own else NOWHERE
