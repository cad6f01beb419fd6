"""How large passages are, and how many tokens a text has, without a model."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...errors import SettingError
from ...settings import Settings, check_whole_number

LEAST, MOST = 8, 100_000  # tokens of a passage
LONGEST_RUN = 24  # letters that are weighed together: a word may be as long as the file
TOKEN = 20  # the weight of one token

_CAPITALS, _SMALL = r"A-Z\u00c0-\u00de", r"a-z\u00df-\u024f"
_SINGLE = r"\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese, Japanese, Korean
_KINDS = {
    "latin": rf"[{_CAPITALS}]?[{_SMALL}]{{1,{LONGEST_RUN - 1}}}|[{_CAPITALS}]{{1,{LONGEST_RUN}}}",
    "digits": rf"\d{{1,{LONGEST_RUN}}}",
    "sign": rf"[^\w\s]|_|[{_SINGLE}]",
    "letters": rf"[^\W\d_{_CAPITALS}{_SMALL}{_SINGLE}]{{1,{LONGEST_RUN}}}",
}
RUN = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items()))
_RUNS = {kind: re.compile(pattern) for kind, pattern in _KINDS.items()}
_LENGTHS = range(LONGEST_RUN + 1)
_WEIGHTS = {
    "latin": [TOKEN + 2 * (length > 2) + 3 * max(0, length - 7) for length in _LENGTHS],
    "digits": [TOKEN if length <= 4 else length * TOKEN // 2 for length in _LENGTHS],
    "sign": [TOKEN for _ in _LENGTHS],
    "letters": [max(TOKEN, length * TOKEN // 2) for length in _LENGTHS],
}


@dataclass(frozen=True)
class Chunking(Settings):
    """How a file is cut into passages.

    tokens    the most of a passage, as `count_tokens` counts them; a code block stays whole up to four times as many
    overlap   the most tokens of its predecessor that a passage repeats, in whole sentences or lines, inside a section
    """

    tokens: int = 200
    overlap: int = 0

    def __post_init__(self) -> None:
        """Check both values."""
        object.__setattr__(self, "tokens", check_whole_number("tokens", self.tokens, LEAST, MOST))
        object.__setattr__(self, "overlap", check_whole_number("overlap", self.overlap, 0))
        if self.overlap > self.tokens // 2:
            raise SettingError(
                f"overlap is {self.overlap}, expected at most half of tokens ({self.tokens // 2}): "
                "a passage must not consist of what is repeated"
            )


def count_tokens(text: str) -> int:
    """About as many tokens as a WordPiece model makes of an English text.

    A word counts 1.1 and 0.15 more for each letter beyond the seventh, and each word of a name like this: camelCase. A
    number of up to four digits counts 1, a longer one half of its digits. A sign and a Chinese, Japanese or Korean
    character count 1, two letters of any other script 1.
    """
    return -(-weigh(text, 0, len(text)) // TOKEN)


def weigh(text: str, begin: int, end: int) -> int:
    """The weight of a span: TOKEN for each token. One kind after the other, because that needs no loop in Python."""
    part = text[begin:end]
    kinds = ("latin", "digits", "sign") if part.isascii() else _RUNS
    return sum(sum(map(_WEIGHTS[kind].__getitem__, map(len, _RUNS[kind].findall(part)))) for kind in kinds)


def weigh_run(found: re.Match[str]) -> int:
    """The weight of a single match of RUN."""
    return _WEIGHTS[found.lastgroup or "sign"][found.end() - found.start()]
