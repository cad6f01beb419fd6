"""Shows the hits of a search: as JSON, for people, or for another program."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .explanations import print_explanation
from .output import make_console, make_visible, print_json, print_row

if TYPE_CHECKING:
    from ..documents.document import Document
    from ..results import Explanation, Match, Ranking

SNIPPET = 200


def show_ranking(ranking: Ranking, reasons: list[Explanation], as_json: bool) -> None:
    """Print a ranking: as JSON, for people, or for another program; `reasons` are none, or one for each hit."""
    if as_json:
        for hit in ranking.to_json(reasons)["hits"]:
            print_json(hit)
    elif sys.stdout.isatty():
        print_ranking(ranking, reasons)
    else:
        _print_plain(ranking, reasons)


def shorten_document(document: Document) -> str:
    """The title, or the beginning of the text."""
    return " ".join((document.title or document.text).split())[:SNIPPET]


def _print_plain(ranking: Ranking, reasons: list[Explanation]) -> None:
    """Columns separated by tabs: rank, score, id, title or text, place in a file, index; then its explanation."""
    for i, hit in enumerate(ranking):
        where = [place for place in (hit.source, hit.index) if place]
        print_row(hit.rank, f"{hit.score:.4f}", hit.id, shorten_document(hit.document), *where)
        if reasons:
            _print_reasons(reasons[i])


def _print_reasons(reason: Explanation) -> None:
    """A line for each view of a hybrid search, and for each query token."""
    _print_matches(reason.matches)
    for share in reason.shares:
        print_row("", f"{share.share:.4f}", share.view, f"{share.score:.4f}")
        _print_matches(share.matches)


def _print_matches(matches: tuple[Match, ...]) -> None:
    for match in matches:
        answer = "(imputed)" if match.imputed else match.token
        place = f"{match.field}:{match.begin}-{match.end}" if match.begin >= 0 else ""
        print_row("", f"{match.similarity:.3f}", match.query_token, answer, place)


def print_ranking(ranking: Ranking, reasons: list[Explanation]) -> None:
    """Print a ranking in colours; the first hits are explained, as many as there are reasons."""
    from rich.padding import Padding
    from rich.text import Text

    console = make_console()
    for i, hit in enumerate(ranking):
        document = hit.document
        head = Text.assemble(
            (f"{hit.rank:2} ", "bold"), (f"{hit.score:7.3f}  ", "cyan"), (make_visible(hit.id), "bold green")
        )
        if hit.source:
            head.append(f"  {make_visible(hit.source)}", "magenta")
        if hit.index is not None:
            head.append(f"  {make_visible(hit.index)}", "dim")
        console.print(head)
        if i < len(reasons):
            print_explanation(console, reasons[i])
            continue
        if document.title:
            console.print(Padding(Text(make_visible(document.title), style="bold"), (0, 0, 0, 4)))
        text = make_visible(" ".join(document.text.split()))
        console.print(Padding(Text(text[:SNIPPET] + ("…" if len(text) > SNIPPET else "")), (0, 0, 0, 4)))
    seconds = sum(ranking.timings.values())
    documents = "1 document" if len(ranking) == 1 else f"{len(ranking)} documents"
    console.print(Text(f"{documents} in {1000 * seconds:.1f} ms ({ranking.method})", style="dim"))
