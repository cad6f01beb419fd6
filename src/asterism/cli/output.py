"""The only way to stdout and stderr: nothing that is printed here can control or deceive a terminal.

Ids, texts, paths, names and messages come from anywhere. Commands print them with the functions of this module, or with
the console of `make_console`; tests/unit/cli/test_output.py refuses any other way.
"""

from __future__ import annotations

import json
import re
import sys
import traceback
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..evaluation.datasets import EvaluationSet
    from .safe_console import SafeConsole

# Control characters except tab and newline; marks that change the direction of text; line separators; surrogates; and
# invisible format characters. The joiners U+200C and U+200D stay: Persian, Indic scripts and emoji need them.
UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff"
    "\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)
TAB, NEWLINE = "␉", "␊"
SYMBOLS = {"\x7f": "␡", "\xad": "‐", "\u200b": "␣", "\u2028": "␤", "\u2029": "␤"}
SYMBOLS |= {chr(code): chr(0x2400 + code) for code in range(32)}
LONGEST_MESSAGE = 1000


def make_visible(text: str) -> str:
    """The text with unsafe characters replaced by symbols, one for one: its length stays."""
    return UNSAFE.sub(lambda found: SYMBOLS.get(found[0], "\ufffd"), text)


def make_one_line(text: str) -> str:
    """The same for one cell or message, where a tab or newline would begin another."""
    return make_visible(text).replace("\t", TAB).replace("\n", NEWLINE)


def print_row(*cells: object) -> None:
    """A line on stdout, its cells separated by tabs."""
    print("\t".join(make_one_line(str(cell)) for cell in cells))


def format_json(value: object) -> str:
    """A value as JSON, for a cell."""
    return json.dumps(value, ensure_ascii=False)


def print_text(text: str) -> None:
    """A text of any number of lines on stdout."""
    print(make_visible(text))


def print_json(value: dict[str, Any]) -> None:
    """One line on stdout; numbers that are not finite are null. Unsafe characters are escaped, which parsers undo."""
    clean = {
        key: None if isinstance(item, float) and not abs(item) < float("inf") else item for key, item in value.items()
    }
    unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    print(UNSAFE.sub(lambda found: _escape(found[0]), json.dumps(clean, ensure_ascii=not unicode)))


def _escape(character: str) -> str:
    """The character as JSON escapes it: one or two units of UTF-16."""
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


def print_note(text: str, quiet: bool = False) -> None:
    """A line for people, on stderr."""
    if not quiet:
        print(make_one_line(text), file=sys.stderr)


def print_error(message: str) -> None:
    """One line on stderr, whatever the message contains; a long one is shortened in its middle."""
    if len(message) > LONGEST_MESSAGE:
        message = f"{message[: LONGEST_MESSAGE // 2]} … {message[-LONGEST_MESSAGE // 2 :]}"
    print_note(f"asterism: {message}")


def print_trace() -> None:
    """The traceback of the current exception, on stderr."""
    print(make_visible(traceback.format_exc()), end="", file=sys.stderr)


def make_console(*, stderr: bool = False) -> SafeConsole:
    """A console for colours and tables."""
    from .safe_console import SafeConsole

    return SafeConsole(stderr=stderr)


def accept_every_character() -> None:
    """Let stdout and stderr escape characters that their encoding lacks, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a stream of a test may have none
            stream.reconfigure(errors="backslashreplace")


def format_megabytes(size: int) -> str:
    """A size for people."""
    return f"{size / 1e6:,.1f} MB"


def format_queries(data: EvaluationSet) -> str:
    """How many judged queries count, and how many do not."""
    left_out = f" ({data.without_relevant:,} without a relevant document left out)" if data.without_relevant else ""
    return f"{len(data):,} queries{left_out}"
