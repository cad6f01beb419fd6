"""`asterism search DIR "query"`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import SettingError
from .explanations import print_explanation
from .inputs import STDIN, parse_filter, read_stdin
from .options import Folder, Json, Model, describe_argument, describe_option
from .output import make_console, make_visible, print_json, print_note, print_row

if TYPE_CHECKING:
    from ..results import Explanation, Match, Ranking
    from ..retriever import Retriever

SNIPPET = 200
UNKNOWN = ("[UNK]", "<unk>")

QueryText = Annotated[str, describe_argument("QUERY", "What to look for; - reads it from stdin.")]
Count = Annotated[int | None, describe_option("-k", help="How many documents (10, or all if there are fewer).")]
MethodName = Annotated[
    str | None,
    describe_option(
        "--method",
        help="colbert, xtr, exact, dense, lexical or hybrid; hybrid:FUSION names a fusion (rrf, m3-all …).",
        default="colbert, or what the index has the views for",
    ),
]
Filter = Annotated[
    str | None,
    describe_option("--filter", metavar="JSON", help='Only documents with this metadata: {"year": {"$gte": 2020}}.'),
]
Explain = Annotated[bool, describe_option("--explain", help="Show what in each document answered the query.")]


def search(
    folder: Folder,
    query: QueryText,
    k: Count = None,
    method: MethodName = None,
    filter: Filter = None,
    explain: Explain = False,
    model: Model = None,
    as_json: Json = False,
) -> None:
    """Search an index."""
    from ..retriever import Retriever
    from ..retriever.jobs import is_unfinished

    text = read_stdin() if query == STDIN else query
    wanted = parse_filter(filter)
    with Retriever.open(folder, model) as retriever:
        unfinished, documents = is_unfinished(retriever.collection), len(retriever)
        count = _choose_count(k, documents)
        ranking = retriever.search(text, count, method=method, filter=wanted)
        reasons = _explain_hits(retriever, ranking, count, wanted, method) if explain else []
        uses_tokens = "multi" in retriever.views and ranking.method != "lexical"
        unknown = _measure_unknown(retriever, text) if uses_tokens else 0.0
    if unfinished:
        print_note(f"{folder} is not finished: run the same `asterism index` again")
    if unknown > 0.5:
        print_note(f"the model does not know {unknown:.0%} of the query's words: do not rely on these results")
    if not len(ranking):
        print_note(f"nothing found: {_explain_nothing(documents, wanted is not None, ranking.method)}")
    if as_json:
        for hit in ranking.to_json(reasons)["hits"]:
            print_json(hit)
    elif sys.stdout.isatty():
        print_ranking(ranking, reasons)
    else:
        _print_plain(ranking, reasons)


def _choose_count(k: int | None, documents: int) -> int:
    if k is None:
        return max(1, min(10, documents))
    if k > documents:
        raise SettingError(f"-k is {k}, but the index has {documents} documents: ask for at most that many")
    return k


def _explain_nothing(documents: int, filtered: bool, method: str) -> str:
    if documents and method == "lexical":
        return f"no document {'that matches the filter ' if filtered else ''}has a word of the query"
    return "no document matches the filter" if documents and filtered else "the index has no documents to search"


def _measure_unknown(retriever: Retriever, query: str) -> float:
    """The share of the query's tokens that are not in the model's vocabulary."""
    spans = [span for span in retriever.encoder.query_spans(query) or () if span.begin >= 0]
    return sum(span.token in UNKNOWN for span in spans) / len(spans) if spans else 0.0


def _explain_hits(
    retriever: Retriever, ranking: Ranking, k: int, filter: dict[str, Any] | None, method: str | None
) -> list[Explanation]:
    return [retriever.explain(ranking.query, hit.id, k=k, filter=filter, method=method) for hit in ranking]


def _print_plain(ranking: Ranking, reasons: list[Explanation]) -> None:
    """Columns separated by tabs: rank, score, id, title or text; then the lines of its explanation."""
    for i, hit in enumerate(ranking):
        shown = " ".join((hit.document.title or hit.document.text).split())[:SNIPPET]
        print_row(hit.rank, f"{hit.score:.4f}", hit.id, shown)
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
