"""An explanation in colours, on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .output import make_visible

if TYPE_CHECKING:
    from rich.text import Text

    from ..results import Explanation, Match
    from .safe_console import SafeConsole

CONTEXT = 120  # characters around the answering words
STYLES = ((0.8, "bold black on bright_green"), (0.6, "black on green"), (0.0, "green"))


def print_explanation(console: SafeConsole, explanation: Explanation) -> None:
    """The passage with its answering words in colours, and a table of which word answered which, for each view."""
    from rich.padding import Padding
    from rich.text import Text

    document = explanation.document
    if document.title:
        console.print(Padding(_colour_matches(document.title, explanation, "title"), (0, 0, 0, 4)))
    begin, end = _find_passage(explanation)
    passage = _colour_matches(document.text, explanation, "text")[begin:end]
    console.print(Padding(Text.assemble("…" if begin else "", passage), (0, 0, 0, 4)))
    for share in explanation.shares:
        part = f" ({share.share / explanation.score:.0%})" if explanation.score > 0 else ""
        console.print(Padding(f"{share.share:.3f}{part} from {share.view}: {share.score:.3f}", (0, 0, 0, 4)))
        _print_matches(console, explanation, share.matches)
    _print_matches(console, explanation, explanation.matches)
    if explanation.imputed:
        console.print(Padding(f"{explanation.imputed:.3f} of {explanation.score:.3f} was imputed", (0, 0, 1, 4)))


def _print_matches(console: SafeConsole, explanation: Explanation, matches: Sequence[Match]) -> None:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    if not matches:
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("query", "answered by", "similarity"):
        table.add_column(column)
    for match in matches:
        names = (_get_query_words(explanation.query, match), _get_answer(explanation, match), f"{match.similarity:.3f}")
        table.add_row(*(Text(make_visible(name)) for name in names))
    console.print(Padding(table, (0, 0, 1, 4)))


def _list_matches(explanation: Explanation) -> list[Match]:
    """The matches of the view, or of all views."""
    return [*explanation.matches, *(match for share in explanation.shares for match in share.matches)]


def _get_query_words(query: str, match: Match) -> str:
    return query[match.query_begin : match.query_end] if match.query_begin >= 0 else match.query_token


def _get_answer(explanation: Explanation, match: Match) -> str:
    if match.imputed:
        return "(imputed)"
    if match.begin < 0:
        return match.token
    source = explanation.document.title if match.field == "title" else explanation.document.text
    return source[match.begin : match.end]


def _colour_matches(text: str, explanation: Explanation, field: str) -> Text:
    from rich.text import Text

    shown = Text(make_visible(text))
    for match in sorted(_list_matches(explanation), key=lambda match: match.similarity):
        if match.field == field and not match.imputed and match.similarity > 0:
            style = next(style for least, style in STYLES if match.similarity >= least or least == 0.0)
            shown.stylize(style, match.begin, match.end)
    return shown


def _find_passage(explanation: Explanation) -> tuple[int, int]:
    """Where the passage worth showing begins and ends: around the best matches."""
    places = [match for match in _list_matches(explanation) if match.field == "text" and not match.imputed]
    strong = [match for match in places if match.similarity >= 0.6] or places
    if not strong:
        return 0, 2 * CONTEXT
    first, last = min(match.begin for match in strong), max(match.end for match in strong)
    return max(0, first - CONTEXT), min(last, first + 8 * CONTEXT) + CONTEXT
