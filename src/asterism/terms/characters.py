"""Which characters form words in each script, by Unicode categories and blocks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import chain

LONGEST = 255  # characters of a word; the rest is ignored, as no language has longer words
LONGEST_UNSPACED = 1 << 16  # characters of a run that becomes n-grams: more than a sentence, few enough for memory

# Blocks of scripts without spaces between words, or with particles attached to them.
IDEOGRAPHIC = (
    (0x3005, 0x3007),  # iteration mark, closing mark, zero
    (0x3031, 0x3035),  # repeat marks
    (0x303B, 0x303C),
    (0x3041, 0x30FF),  # Hiragana, Katakana
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),  # half-width Katakana
    (0x1AFF0, 0x1B16F),  # old and small Kana
    (0x20000, 0x323AF),  # rare Han
)
HANGUL = (
    (0x1100, 0x11FF),
    (0x3131, 0x318E),
    (0xA960, 0xA97C),
    (0xAC00, 0xD7FB),
    (0xFFA0, 0xFFDC),
)
ALPHABETIC = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0xA9E0, 0xA9FF),  # Myanmar for Shan and others
    (0xAA60, 0xAA7F),
)
JOINING = (  # letters by category, but part of the one before: half-width voicing marks, vowels, finals
    (0xFF9E, 0xFF9F),
    (0x1160, 0x11FF),
    (0xD7B0, 0xD7FB),
)
SPELLING = (  # blocks with many symbols that are words: № ㎏ ㍿, radicals that stand for a Han letter
    (0x20A8, 0x20A8),
    (0x2100, 0x214F),
    (0x24B6, 0x24E9),
    (0x2E80, 0x2FDF),
    (0x3200, 0x33FF),
    (0xFDFA, 0xFDFF),
    (0x1F110, 0x1F2FF),
)
MARKED = ((0x0300, 0x1E94F), (0xE0100, 0xE01EF))  # the ranges of combining marks

# Invisible characters inside words: soft hyphen, joiners, directions; variation selectors are marks.
# The zero-width space is not one of them: it separates words.
UNSEEN = (0x00AD, 0x061C, 0x180E, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF)
DROPPED = re.compile("[\u00ad\u061c\u180b-\u180f\u200c-\u200f\u2060\ufeff\u0640\ufe00-\ufe0f\U000e0100-\U000e01ef]")


@dataclass(frozen=True)
class Unspaced:
    """Runs of letters without spaces between words, and the lengths of their n-grams."""

    run: re.Pattern[str]
    grams: tuple[int, ...]


@dataclass(frozen=True)
class Writings:
    """Patterns of all scripts. No character begins a match of two of them, so each is searched for separately.

    ascii     like spaced, but faster, for ASCII texts
    spaced    a run of letters, digits and marks, except those of unspaced scripts
    symbol    one character that stands for a word
    unspaced  one for each kind of script without spaces
    piece     a letter of an unspaced script with its marks
    """

    ascii: re.Pattern[str]
    spaced: re.Pattern[str]
    symbol: re.Pattern[str]
    unspaced: tuple[Unspaced, ...]
    piece: re.Pattern[str]


@cache
def compile_writings() -> Writings:
    """Compiled at the first call, which takes about 0.1 s."""
    ideographic, hangul, alphabetic = (_find_letters_and_marks(blocks) for blocks in (IDEOGRAPHIC, HANGUL, ALPHABETIC))
    own = ideographic | hangul | alphabetic
    marks = {code for code in _list_codes(MARKED) if _is_mark(code)} - own | set(UNSEEN)
    begins = {code for code in own if not _is_mark(code)} - set(_list_codes(JOINING))
    symbols = [code for code in _list_codes(SPELLING) if _is_spelled(chr(code))]
    letter = f"[^\\W_{_write_ranges(own)}]"  # other characters fail at once, before the ranges are searched
    return Writings(
        re.compile("[A-Za-z0-9]+"),
        # Bounded, because each repetition is kept in memory until the match ends.
        re.compile(f"{letter}+(?:(?![\0-\xac])[{_write_ranges(marks)}]+{letter}*){{,{LONGEST}}}"),
        re.compile(f"[{_write_ranges(symbols)}]"),
        (
            # Most Han words have two letters, many have one. Two letters of an alphabet are too unspecific.
            Unspaced(_compile_run(ideographic & begins, ideographic | marks), (1, 2)),
            Unspaced(_compile_run(hangul & begins, hangul | marks), (2,)),
            Unspaced(_compile_run(alphabetic & begins, alphabetic | marks), (3,)),
        ),
        re.compile(f"[{_write_ranges(begins)}][{_write_ranges(own - begins | marks)}]*"),
    )


def fold(text: str) -> str:
    """Letters that differ only by case, width or form become equal."""
    letters = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", DROPPED.sub("", letters))


def is_ideograph(letter: str) -> bool:
    """Whether a letter is of a script in which single letters can be words."""
    return any(first <= ord(letter) <= last for first, last in IDEOGRAPHIC)


def _find_letters_and_marks(blocks: Iterable[tuple[int, int]]) -> set[int]:
    """Without digits: numbers are words in every script."""
    return {code for code in _list_codes(blocks) if unicodedata.category(chr(code)) in ("Lo", "Lm", "Nl", "Mn", "Mc")}


def _is_mark(code: int) -> bool:
    return unicodedata.category(chr(code)).startswith("M")


def _is_spelled(symbol: str) -> bool:
    return not symbol.isalnum() and any(letter.isalnum() for letter in fold(symbol))


def _list_codes(blocks: Iterable[tuple[int, int]]) -> Iterable[int]:
    return chain.from_iterable(range(first, last + 1) for first, last in blocks)


def _compile_run(begins: set[int], goes_on: set[int]) -> re.Pattern[str]:
    return re.compile(f"[{_write_ranges(begins)}][{_write_ranges(goes_on)}]{{,{LONGEST_UNSPACED - 1}}}")


def _write_ranges(codes: Iterable[int]) -> str:
    """The codes as the inside of a character class."""
    found: list[list[int]] = []
    for code in sorted(codes):
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in found)
