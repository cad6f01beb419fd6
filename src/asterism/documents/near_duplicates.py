"""Passages that say almost the same in the same words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

SHINGLE = 3  # words
SHORT = 10  # words; one other word in a shorter text changes most of its shingles
KEPT = 2000  # passages whose shingles stay in memory

UNSPACED = (  # a character of a script without spaces between words is a word of its own
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
)
WORD = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+")


class Shingles(NamedTuple):
    """The words of a text in order, the set of them, and the set of all runs of three."""

    words: tuple[str, ...]
    single: frozenset[str]
    runs: frozenset[tuple[str, ...]]


def find_words(text: str) -> tuple[str, ...]:
    """The words of a text, without case."""
    return tuple(WORD.findall(text.casefold()))


def make_shingles(text: str) -> Shingles:
    """The words and shingles of a text."""
    words = find_words(text)
    runs = frozenset(zip(*(words[first:] for first in range(SHINGLE)), strict=False))
    return Shingles(words, frozenset(words), runs)


def measure_overlap(a: Shingles, b: Shingles) -> float:
    """Jaccard of the sets of shingles; of the sets of words if a text is short. 0 if both are empty."""
    if min(len(a.words), len(b.words)) < SHORT:
        return _measure_jaccard(a.single, b.single)
    return _measure_jaccard(a.runs, b.runs)


def _measure_jaccard(a: frozenset[object], b: frozenset[object]) -> float:
    common = len(a & b)
    return common / (len(a) + len(b) - common) if a or b else 0.0


class NearDuplicates:
    """Finds the near-duplicates among passages: those with an overlap of at least `share`."""

    def __init__(self, passages: Sequence[str], share: float) -> None:
        """Shingles are made when they are needed."""
        self._share = share
        self._describe = lru_cache(KEPT)(lambda number: make_shingles(passages[number]))
        self._count = lru_cache(None)(lambda number: tuple(len(part) for part in self._describe(number)))

    def is_like_any(self, passage: int, others: Iterable[int]) -> bool:
        """Whether a passage is a near-duplicate of one of the others."""
        return any(self._is_like(passage, other) for other in others)

    def has_words(self, passage: int, words: tuple[str, ...]) -> bool:
        """Whether a passage consists of these words, in the same order."""
        return self._count(passage)[0] == len(words) and self._describe(passage).words == words

    def _is_like(self, passage: int, other: int) -> bool:
        """Sizes are compared first: sets whose sizes differ much cannot have much in common."""
        (words, *sets), (other_words, *other_sets) = self._count(passage), self._count(other)
        compared = 0 if min(words, other_words) < SHORT else 1
        small, large = sorted((sets[compared], other_sets[compared]))
        if not small or small / large < self._share:
            return False
        return measure_overlap(self._describe(passage), self._describe(other)) >= self._share
