"""The words of a text as terms, counted for BM25 if the model has no lexical head."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..representations import LexicalWeights
from .characters import LONGEST, compile_writings
from .function_words import find_function_words
from .languages import NONE, load_stemmer
from .texts import check_texts
from .words import find_words, split_run, split_unspaced_run

REMEMBERED = 1 << 17  # words of a language whose terms are cached: some tens of MB
LETTERS = 7  # of a word or stem that make its term: in most languages, endings come after them
SHORT = 3  # letters of a word that has no ending to remove: many of these words are abbreviations

Terms = npt.NDArray[np.int64]
Hasher = Callable[[str], tuple[int, ...]]


class TermSpan(NamedTuple):
    """A term, its word or token, and the piece text[begin:end]; -1, -1 for a token that is not part of the text."""

    term: int
    word: str
    begin: int
    end: int


def count_words(texts: Sequence[str], language: str = NONE) -> LexicalWeights:
    """The words of each text as terms, 0 <= term < 2**63, and how often each occurs.

    Words with the same first seven letters are one term ("measured", "measurement"), unless they have digits. In a
    language other than "none", these are the letters of Snowball's stem.
    """
    check_texts(texts)
    return count_terms(_hash_words(text, _make_hasher(language)) for text in texts)


def count_query_words(texts: Sequence[str], language: str = NONE) -> LexicalWeights:
    """As `count_words`, but without the language's function words, unless a text has no other words.

    Documents keep them, so that every word can be found. In a query they do harm: "what" and "how" are rare in
    documents, and would count as much as names.
    """
    check_texts(texts)
    return count_terms(_hash_query_words(text, language) for text in texts)


def find_word_spans(text: str, language: str = NONE) -> list[TermSpan]:
    """One span for each word that `count_words` counts, in the order of the text."""
    check_texts([text])
    stem = load_stemmer(language)
    spans = [TermSpan(_hash_word(word, stem), word, begin, end) for word, begin, end in find_words(text)]
    return sorted(spans, key=lambda span: (span.begin, span.end))


def find_query_word_spans(text: str, language: str = NONE) -> list[TermSpan]:
    """One span for each word that `count_query_words` counts, in the order of the text."""
    spans, dropped = find_word_spans(text, language), find_function_words(language)
    return [span for span in spans if span.word not in dropped] or spans


def count_terms(texts: Iterable[Terms]) -> LexicalWeights:
    """The terms (n,) of each text, with repetitions and in any order -> counts."""
    found = list(texts)
    if not found:
        return LexicalWeights([0], [], [])
    text, term = np.repeat(np.arange(len(found)), [len(terms) for terms in found]), np.concatenate(found)
    order = np.lexsort((term, text))  # once for all texts: one call per text would take longer
    text, term = text[order], term[order]
    first = np.ones(len(term), bool)
    first[1:] = (np.diff(text) != 0) | (np.diff(term) != 0)
    begins = np.flatnonzero(first)
    sizes = np.bincount(text[begins], minlength=len(found))
    return LexicalWeights(
        np.concatenate([[0], np.cumsum(sizes)]), term[begins], np.diff(begins, append=len(term)).astype(np.float32)
    )


def _hash_words(text: str, hash_run: Hasher) -> Terms:
    """(n,) the terms of the words that `find_words` finds, but faster: runs are cached."""
    kinds = compile_writings()
    if text.isascii():
        return np.fromiter(chain.from_iterable(map(hash_run, _shorten(kinds.ascii.findall(text)))), np.int64)
    whole = map(hash_run, _shorten(kinds.spaced.findall(text) + kinds.symbol.findall(text)))
    # Runs are not cached here: most sentences occur only once.
    runs = ((run, kind.grams) for kind in kinds.unspaced for run in kind.run.findall(text))
    cut = (map(_hash_gram, split_unspaced_run(run, lengths)) for run, lengths in runs)
    return np.fromiter(chain.from_iterable(chain(whole, cut)), np.int64)


def _hash_query_words(text: str, language: str) -> Terms:
    """(n,) the terms without those of function words, or all if there are no others."""
    kept = _hash_words(text, _make_query_hasher(language))
    return kept if len(kept) else _hash_words(text, _make_hasher(language))


def _shorten(runs: list[str]) -> list[str]:
    """Cut runs to the length that counts, so that the cache holds no long strings."""
    return [run[:LONGEST] for run in runs] if max(map(len, runs), default=0) > LONGEST else runs


@cache
def _make_hasher(language: str) -> Hasher:
    """A run -> the terms of its words. Each language has its own cache: a key of two values would take longer."""
    stem = load_stemmer(language)

    @lru_cache(REMEMBERED)
    def hash_run(run: str) -> tuple[int, ...]:
        return tuple(_hash_word(word, stem) for word in split_run(run))

    return hash_run


@cache
def _make_query_hasher(language: str) -> Hasher:
    """A run -> the terms of its words that are not function words; not cached, because queries are short."""
    stem, dropped = load_stemmer(language), find_function_words(language)

    def hash_run(run: str) -> tuple[int, ...]:
        return tuple(_hash_word(word, stem) for word in split_run(run) if word not in dropped)

    return hash_run


@lru_cache(REMEMBERED)
def _hash_gram(gram: str) -> int:
    return _hash(gram)


def _hash_word(word: str, stem: Callable[[str], str]) -> int:
    """Words with digits are taken as they are: numbers and names with numbers have no endings."""
    if any(letter.isdigit() for letter in word):
        return _hash(word)
    return _hash((stem(word) if len(word) > SHORT else word)[:LETTERS])


def _hash(word: str) -> int:
    """The same on every machine; 63 bits, so that two words almost never share a term."""
    return int.from_bytes(blake2b(word.encode("utf-8")).digest()[:8], "big") >> 1
