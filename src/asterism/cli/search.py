"""`asterism search DIR "query"`."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from .explanations import print_explanation
from .inputs import STDIN, parse_filter, read_stdin
from .options import Folder, Json, Model, describe_argument, describe_option
from .output import make_console, make_visible, print_json, print_note, print_row
from .readability import POOR

if TYPE_CHECKING:
    from ..encoders.pair_scorer import PairScorer
    from ..results import Explanation, Match, Ranking
    from ..retriever import Retriever
    from ..settings import HybridSearch

SNIPPET = 200

QueryText = Annotated[str, describe_argument("QUERY", "What to look for; - reads it from stdin.")]
Count = Annotated[
    int | None, describe_option("-k", help="How many documents, or all if there are fewer.", default="10")
]
MethodName = Annotated[
    str | None,
    describe_option(
        "--method",
        help="colbert, xtr, exact, dense, lexical or hybrid; hybrid:FUSION names a fusion (rrf, m3-all …).",
        default="hybrid, or the method of the only view",
    ),
]
Filter = Annotated[
    str | None,
    describe_option("--filter", metavar="JSON", help='Only documents with this metadata: {"year": {"$gte": 2020}}.'),
]
Calibrated = Annotated[
    bool,
    describe_option("--calibrated", help="Scores from 0 to 1, to compare with a threshold or with other indexes."),
]
Rerank = Annotated[
    str | None,
    describe_option("--rerank", metavar="MODEL", help="A cross-encoder, by folder or name, that orders the best."),
]
Depth = Annotated[int, describe_option("--depth", help="How many --rerank orders.", default=True)]
GroupBy = Annotated[
    str | None,
    describe_option("--group-by", metavar="KEY", help="One hit for each value of this metadata: file, for example."),
]
Fold = Annotated[bool, describe_option("--fold", help="Of nearly identical texts, show only the best.")]
Explain = Annotated[bool, describe_option("--explain", help="Show what in each document answered the query.")]


def search(
    folder: Folder,
    query: QueryText,
    k: Count = None,
    method: MethodName = None,
    filter: Filter = None,
    calibrated: Calibrated = False,
    rerank: Rerank = None,
    depth: Depth = 100,
    group_by: GroupBy = None,
    fold: Fold = False,
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
        asked: dict[str, Any] = {
            "method": method,
            "filter": wanted,
            "settings": _calibrate(retriever) if calibrated else None,
        }
        ranking = retriever.search(
            text, count, **asked, rerank=_load_scorer(rerank), depth=depth, group_by=group_by, fold=fold
        )
        reasons = [retriever.explain(text, hit.id, k=count, **asked) for hit in ranking] if explain else []
        words_alone = method == "lexical" or retriever.views == ("lexical",)
        readable = 1.0 if words_alone else float(retriever.encoder.measure_readable([text])[0])
    if unfinished:
        print_note(f"{folder} is not finished: run the same `asterism index` again")
    if readable < POOR:
        what = "they rest on its words" if ranking.method == "hybrid" else "do not rely on them"
        print_note(f"the model can read only {readable:.0%} of the query, judge the results accordingly: {what}")
    if not len(ranking):
        print_note(f"nothing found: {_explain_nothing(documents, wanted is not None, ranking.method)}")
    show_ranking(ranking, reasons, as_json)


def show_ranking(ranking: Ranking, reasons: list[Explanation], as_json: bool) -> None:
    """Print a ranking: as JSON, for people, or for another program; `reasons` are none, or one for each hit."""
    if as_json:
        for hit in ranking.to_json(reasons)["hits"]:
            print_json(hit)
    elif sys.stdout.isatty():
        print_ranking(ranking, reasons)
    else:
        _print_plain(ranking, reasons)


def _choose_count(k: int | None, documents: int) -> int:
    """As many as were asked for, or all; what is no number of documents is refused by the search."""
    return min(10 if k is None else k, max(1, documents))


def _explain_nothing(documents: int, filtered: bool, method: str) -> str:
    if documents and method == "lexical":
        return f"no document {'that matches the filter ' if filtered else ''}has a word of the query"
    return "no document matches the filter" if documents and filtered else "the index has no documents to search"


def _load_scorer(model: str | None) -> PairScorer | None:
    if model is None:
        return None
    from ..encoders import load_pair_scorer

    return load_pair_scorer(model, precision="int8")


def _calibrate(retriever: Retriever) -> HybridSearch:
    """The index's own settings of hybrid search, with scores from 0 to 1."""
    return replace(retriever.fusion, calibrated=True)


def _print_plain(ranking: Ranking, reasons: list[Explanation]) -> None:
    """Columns separated by tabs: rank, score, id, title or text, and a file's place; then its explanation."""
    for i, hit in enumerate(ranking):
        shown = " ".join((hit.document.title or hit.document.text).split())[:SNIPPET]
        source = hit.source
        print_row(hit.rank, f"{hit.score:.4f}", hit.id, shown, *([source] if source else []))
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
        if source := hit.source:
            head.append(f"  {make_visible(source)}", "magenta")
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
