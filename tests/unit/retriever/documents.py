"""What the tests of the retriever put into an index."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from asterism import Document, Retriever
from tests import layouts

Put = Callable[..., Retriever]

METHODS = ("exact", "colbert", "xtr")
FEW = [
    Document("fox", "The quick brown fox jumps over the lazy dog.", metadata={"year": 1999, "lang": "en"}),
    Document("light", "Who first measured the speed of light?", "Speed", {"year": 2001, "lang": "en"}),
    Document("python", "Run a function every few seconds.", "Python", {"year": 2020, "lang": "de"}),
    Document("empty", ""),
]
QUERIES = ["the quick fox", "who measured the speed of light in time?", "a", "python function"]


def words(count: int = 200, seed: int = 0) -> list[Document]:
    rng = np.random.default_rng(seed)

    def some(least: int, most: int) -> str:
        return " ".join(rng.choice(layouts.WORDS, int(rng.integers(least, most))))

    return [Document(f"d{i}", some(3, 25), some(1, 4) if i % 2 else "", {"n": i}) for i in range(count)]


def write_documents(count: int, first: int = 0) -> list[Document]:
    """Three sentences each, of different words."""
    made = []
    for number in range(first, first + count):
        rng = np.random.default_rng(number)
        sentences = [" ".join(rng.choice(layouts.WORDS, 8)) for _ in range(3)]
        made.append(Document(f"d{number}", ". ".join(sentences) + ".", "the title" if number % 3 else ""))
    return made
