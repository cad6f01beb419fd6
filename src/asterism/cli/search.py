"""`asterism search DIR "query"`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import InputError
from .inputs import STDIN, parse_filter, read_stdin
from .options import Filter, Folder, Json, Model, Offset, describe_argument, describe_option
from .output import print_note
from .rankings import show_ranking
from .readability import POOR

if TYPE_CHECKING:
    from ..encoders.pair_scorer import PairScorer
    from ..retriever import Retriever
    from ..settings import HybridSearch

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
Also = Annotated[
    list[Path] | None,
    describe_option("--also", metavar="DIR", help="Another index to search with it; may be given several times."),
]
Explain = Annotated[bool, describe_option("--explain", help="Show what in each document answered the query.")]


def search(
    folder: Folder,
    query: QueryText,
    k: Count = None,
    offset: Offset = 0,
    also: Also = None,
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
    """Search an index, or several together."""
    from ..retriever import Retriever

    text = read_stdin() if query == STDIN else query
    wanted = parse_filter(filter)
    if also:
        _refuse_for_several(explain, calibrated, method, group_by is not None or fold)
        page = {"k": k, "offset": offset, "rerank": rerank, "depth": depth}
        _search_several([folder, *also], text, page, {"method": method, "filter": wanted}, model, as_json)
        return
    with Retriever.open(folder, model) as retriever:
        documents = len(retriever)
        _note_unfinished(folder, retriever)
        count = _choose_count(k, documents, offset)
        asked: dict[str, Any] = {
            "method": method,
            "filter": wanted,
            "settings": _calibrate(retriever) if calibrated else None,
        }
        pages: dict[str, Any] = {"offset": offset, "group_by": group_by, "fold": fold}
        ranking = retriever.search(text, count, **pages, **asked, rerank=_load_scorer(rerank), depth=depth)
        reasons = [retriever.explain(text, hit.id, k=count + offset, **asked) for hit in ranking] if explain else []
        words_alone = method == "lexical" or retriever.views == ("lexical",)
        readable = 1.0 if words_alone else float(retriever.encoder.measure_readable([text])[0])
    if readable < POOR:
        what = "they rest on its words" if ranking.method == "hybrid" else "do not rely on them"
        print_note(f"the model can read only {readable:.0%} of the query, judge the results accordingly: {what}")
    if not len(ranking):
        print_note(f"nothing found: {_explain_nothing(documents, offset, wanted is not None, ranking.method)}")
    show_ranking(ranking, reasons, as_json)


def _search_several(
    folders: list[Path], text: str, page: dict[str, Any], asked: dict[str, Any], model: str | None, as_json: bool
) -> None:
    """Search several indexes as one, and print the ranking."""
    from ..retriever import open_many

    with open_many(folders, model) as indexes:
        documents, offset = len(indexes), page["offset"]
        for folder, retriever in indexes.indexes.items():
            _note_unfinished(folder, retriever)
        scorer = {"rerank": _load_scorer(page["rerank"]), "depth": page["depth"]}
        ranking = indexes.search(text, _choose_count(page["k"], documents, offset), offset=offset, **asked, **scorer)
    if not len(ranking):
        reason = _explain_nothing(documents, offset, asked["filter"] is not None, ranking.method)
        print_note(f"nothing found: {reason}")
    show_ranking(ranking, [], as_json)


def _refuse_for_several(explain: bool, calibrated: bool, method: str | None, grouped: bool) -> None:
    if grouped:
        raise InputError("--group-by or --fold was given with --also, expected one index: search them one by one")
    if explain:
        raise InputError("--explain and --also were given, expected one of them: explain a search of one index")
    if calibrated and method not in (None, "hybrid"):
        raise InputError(f"--calibrated was given with --method {method}, expected hybrid: others have plain scores")


def _note_unfinished(folder: Path | str, retriever: Retriever) -> None:
    from ..retriever.jobs import is_unfinished

    if is_unfinished(retriever.collection):
        print_note(f"{folder} is not finished: run the same `asterism index` again")


def _choose_count(k: int | None, documents: int, offset: int) -> int:
    """As many as were asked for, or all; what is no number of documents is refused by the search."""
    return min(10 if k is None else k, max(1, documents - max(0, offset)))


def _explain_nothing(documents: int, offset: int, filtered: bool, method: str) -> str:
    if documents and offset:
        return f"there are no more hits after the first {offset:,}"
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
