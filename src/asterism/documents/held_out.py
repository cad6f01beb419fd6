"""Takes a sentence out of a text: a question whose answer is known, without anyone's judgement."""

from __future__ import annotations

import re

import numpy as np

SENTENCE_ENDS = re.compile(r"(?<=[.!?؟।])\s+|(?<=[。！？])|\n+")
SHORTEST, LONGEST = 20, 300  # characters of a sentence
SHORTEST_SPAN, LONGEST_SPAN = 30, 150
LEAST_REST = 20


def take_out_sentence(text: str, rng: np.random.Generator) -> tuple[str, str] | None:
    """A sentence and the text without it; None for a text that is too short.

    A text without ends of sentences, as in Thai, gives a piece of about a sixth of it.
    """
    parts = [part for part in SENTENCE_ENDS.split(text) if part and part.strip()]
    usable = [i for i, part in enumerate(parts) if SHORTEST <= len(part) <= LONGEST]
    if len(parts) < 2 or not usable:
        return _take_out_span(text, rng)
    chosen = usable[int(rng.integers(len(usable)))]
    rest = " ".join(parts[:chosen] + parts[chosen + 1 :])
    return (parts[chosen].strip(), rest) if len(rest) >= LEAST_REST else None


def _take_out_span(text: str, rng: np.random.Generator) -> tuple[str, str] | None:
    """A piece from one space to another, or of any characters where spaces are far apart."""
    width = min(LONGEST_SPAN, max(SHORTEST_SPAN, len(text) // 6))
    if len(text) < width + max(LEAST_REST, width // 2):
        return None
    begin = int(rng.integers(len(text) - width))
    end = begin + width
    if " " in text:
        begin = max(text.rfind(" ", 0, begin + 1) + 1, begin - width)
        end = text.find(" ", begin + width, begin + LONGEST)
        end = end if end >= 0 else min(len(text), begin + LONGEST)
    rest = text[:begin] + text[end:]
    return (text[begin:end].strip(), rest) if text[begin:end].strip() and len(rest) >= LEAST_REST else None
