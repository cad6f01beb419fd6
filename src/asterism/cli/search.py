"""`asterism search DIR "query"`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import SettingError
from .explanations import print_explanation
from .inputs import STDIN, parsed_filter, stdin_text
from .options import Folder, Json, Model
from .output import print_json, print_note, print_row, terminal, visible

if TYPE_CHECKING:
    from ..results import Explanation, Match, Ranking
    from ..retriever import Retriever

SNIPPET = 200
UNKNOWN = ("[UNK]", "<unk>")

Question = Annotated[
    str, typer.Argument(metavar="QUERY", help="What to look for; - reads it from stdin.", show_default=False)
]
Count = Annotated[
    int | None,
    typer.Option("-k", help="How many documents (10, or all where there are fewer).", show_default=False),
]
MethodName = Annotated[
    str | None,
    typer.Option(
        "--method",
        help="colbert, xtr or exact; dense, lexical or hybrid, or hybrid: and a fusion (rrf, m3-all …).",
        show_default="colbert, or what the index has the views for",
    ),
]
Where = Annotated[
    str | None,
    typer.Option("--filter", metavar="JSON", help='Such as {"year": {"$gte": 2020}}.', show_default=False),
]
Explain = Annotated[bool, typer.Option("--explain", help="Show what in each document answered the query.")]


def search(
    folder: Folder,
    query: Question,
    k: Count = None,
    method: MethodName = None,
    where: Where = None,
    explain: Explain = False,
    model: Model = None,
    as_json: Json = False,
) -> None:
    """Search an index."""
    from ..retriever import Retriever

    text = stdin_text() if query == STDIN else query
    chosen = parsed_filter(where)
    with Retriever.open(folder, model) as retriever:
        unfinished, documents = retriever.job() is not None, len(retriever)
        count = _count(k, len(retriever))
        ranking = retriever.search(text, count, method=method, filter=chosen)
        reasons = _reasons(retriever, ranking, count, chosen, method) if explain else []
        asks_model = "multi" in retriever.views and ranking.method != "lexical"
        unknown = _unknown_share(retriever, text) if asks_model else 0.0
    if unfinished:
        print_note(f"{folder} is not finished: run the `asterism index` that began it again")
    if unknown > 0.5:
        print_note(f"the model does not know {unknown:.0%} of the query's words: the answers mean little")
    if not len(ranking):
        print_note(f"nothing found: {_why_nothing(documents, chosen is not None, ranking.method)}")
    if as_json:
        for hit in ranking.to_json(reasons)["hits"]:
            print_json(hit)
    elif sys.stdout.isatty():
        print_ranking(ranking, reasons)
    else:
        _print_plain(ranking, reasons)


def _count(k: int | None, documents: int) -> int:
    if k is None:
        return max(1, min(10, documents))
    if k > documents:
        raise SettingError(f"-k is {k}, but the index has {documents} documents: ask for at most that many")
    return k


def _why_nothing(documents: int, filtered: bool, method: str) -> str:
    if documents and method == "lexical":
        return f"no document {'that matches the filter ' if filtered else ''}has a word of the query"
    return "no document matches the filter" if documents and filtered else "the index has no documents to search"


def _unknown_share(retriever: Retriever, query: str) -> float:
    """Of the query's tokens, those that the model's vocabulary has no word for."""
    spans = [span for span in retriever.encoder.query_spans(query) or () if span.begin >= 0]
    return sum(span.token in UNKNOWN for span in spans) / len(spans) if spans else 0.0


def _reasons(
    retriever: Retriever, ranking: Ranking, k: int, where: dict[str, Any] | None, method: str | None
) -> list[Explanation]:
    return [retriever.explain(ranking.query, hit.id, k=k, filter=where, method=method) for hit in ranking]


def _print_plain(ranking: Ranking, reasons: list[Explanation]) -> None:
    """Columns separated by tabs: rank, score, id, title or text; explained, a line for each view and query token."""
    for i, hit in enumerate(ranking):
        shown = " ".join((hit.document.title or hit.document.text).split())[:SNIPPET]
        print_row(hit.rank, f"{hit.score:.4f}", hit.id, shown)
        if reasons:
            _print_reasons(reasons[i])


def _print_reasons(reason: Explanation) -> None:
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
    """For people; the first hits have their reasons."""
    from rich.padding import Padding
    from rich.text import Text

    console = terminal()
    for i, hit in enumerate(ranking):
        document = hit.document
        head = Text.assemble(
            (f"{hit.rank:2} ", "bold"), (f"{hit.score:7.3f}  ", "cyan"), (visible(hit.id), "bold green")
        )
        console.print(head)
        if i < len(reasons):
            print_explanation(console, reasons[i])
            continue
        if document.title:
            console.print(Padding(Text(visible(document.title), style="bold"), (0, 0, 0, 4)))
        text = visible(" ".join(document.text.split()))
        console.print(Padding(Text(text[:SNIPPET] + ("…" if len(text) > SNIPPET else "")), (0, 0, 0, 4)))
    seconds = sum(ranking.timings.values())
    documents = "1 document" if len(ranking) == 1 else f"{len(ranking)} documents"
    console.print(Text(f"{documents} in {1000 * seconds:.1f} ms ({ranking.method})", style="dim"))
