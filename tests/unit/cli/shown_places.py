"""Reads what a search printed, and the lines of the files that it names."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SOURCE = re.compile(r"(?P<file>\S+):(?P<first>\d+)(?:–(?P<last>\d+))?$")
WIDTH = range(40, 76)  # characters of a line that serves as a phrase
LEAST_WORDS = 7


@dataclass(frozen=True)
class ShownPlace:
    """`notes/a.md:12–30`, as it was printed."""

    file: str
    first: int
    last: int

    def read(self, parent: Path) -> str:
        """These lines of the file, which lies below `parent`."""
        path = parent / self.file
        stored = path.read_bytes()
        content = gzip.decompress(stored) if path.suffix == ".gz" else stored
        lines = content.decode("utf-8", "replace").split("\n")
        assert 1 <= self.first <= self.last <= len(lines)
        return "\n".join(lines[self.first - 1 : self.last])


def parse_places(printed: str) -> list[ShownPlace]:
    """The places of all hits, from the last column or from a terminal."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", printed)
    found = [SOURCE.search(line.rstrip()) for line in plain.splitlines()]
    return [ShownPlace(one["file"], int(one["first"]), int(one["last"] or one["first"])) for one in found if one]


def count_words(texts: Iterable[str]) -> Counter[str]:
    """In how many of some texts each word occurs."""
    return Counter(word for text in texts for word in _list_words(text))


def find_phrase(text: str, counts: Counter[str]) -> str:
    """The line whose words occur in the fewest texts; empty if no line of a moderate length has enough words."""
    lines = [line.strip() for line in text.split("\n")]
    usable = [line for line in lines if len(line) in WIDTH and line.isascii() and len(_list_words(line)) >= LEAST_WORDS]
    return max(usable, key=lambda line: sum(1 / counts[word] for word in _list_words(line)), default="")


def _list_words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{3,}", text.lower()))


def has_phrase(phrase: str, lines: str) -> bool:
    """Whether the words of a phrase follow each other in some lines."""
    return " ".join(phrase.split()) in " ".join(lines.split())
