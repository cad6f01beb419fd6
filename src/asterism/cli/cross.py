"""`asterism cross build`, `search` and `info`: a cross-encoder that searches an index itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from .inputs import STDIN, parse_filter, read_stdin
from .options import Filter, Folder, Json, Quiet, describe_option
from .output import format_megabytes, print_json, print_note, print_row
from .progress import show_progress
from .rankings import show_ranking
from .search import QueryText

if TYPE_CHECKING:
    from ..factorised.anchors import AnchorChoice
    from ..retriever.cross_building import BuildProgress

app = typer.Typer(help="Search with a cross-encoder itself, within a budget of calls.", no_args_is_help=True)

CrossModel = Annotated[str, describe_option("--model", metavar="DIR", help="The cross-encoder: a folder or a name.")]
Moved = Annotated[
    str | None,
    describe_option(
        "--model", metavar="DIR", help="Where the cross-encoder is now, if it was moved; which one, without a build."
    ),
]
Queries = Annotated[
    Path,
    describe_option("--queries", metavar="FILE", help="Anchor queries: a text a line, or queries.jsonl[.gz] of BEIR."),
]
AnchorQueries = Annotated[
    int, describe_option("--anchor-queries", help="How many of the queries; 0 for all.", default=True)
]
AnchorItems = Annotated[int, describe_option("--anchor-items", help="How many documents are anchors.", default=True)]
Anchors = Annotated[
    str, describe_option("--anchors", help="How anchors are chosen: pivots, clusters or random.", default=True)
]
Sparse = Annotated[
    int,
    describe_option(
        "--sparse",
        help="Score only so many documents a query, the best of an ordinary search, and fit the dense vectors to the "
        "scores, for --method axn; 0 to score all.",
        default=True,
    ),
]
Seed = Annotated[int, describe_option("--seed", help="Of all choices.", default=True)]
Halves = Annotated[bool, describe_option("--float16", help="Store scores in half the bytes.")]
Calls = Annotated[int, describe_option("--calls", help="Pairs that the cross-encoder may score.", default=True)]
CrossMethodName = Annotated[str, describe_option("--method", help="adacur, anncur, axn or rerank.", default=True)]
Count = Annotated[int, describe_option("-k", help="How many documents.", default=True)]


@app.command()
def build(
    folder: Folder,
    model: CrossModel,
    queries: Queries,
    anchor_queries: AnchorQueries = 200,
    anchor_items: AnchorItems = 200,
    anchors: Anchors = "pivots",
    sparse: Sparse = 0,
    seed: Seed = 1,
    halves: Halves = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score every document of an index for some queries. An interrupted build continues if it is started again."""
    from ..encoders import load_pair_scorer
    from ..errors import SettingError
    from ..factorised.scorers import CheckedScorer
    from ..retriever import Retriever
    from ..retriever.cross_building import build_table, read_anchor_queries
    from ..retriever.cross_fitting import fit_index
    from ..retriever.cross_scorers import describe_scorer
    from ..retriever.cross_tables import describe_tables

    if sparse and halves:
        raise SettingError("--float16 is given with --sparse, which stores no scores of all documents: leave one out")
    asked = read_anchor_queries(queries, anchor_queries, seed)
    with Retriever.open(folder) as retriever:
        loaded = load_pair_scorer(model, precision="int8")
        scorer, made_of = CheckedScorer(loaded), describe_scorer(model, loaded)
        each = min(sparse, len(retriever)) if sparse > 0 else len(retriever)
        most = "at most " if sparse > 0 else ""
        print_note(f"{each:,} documents for {len(asked):,} queries: {most}{len(asked) * each:,} calls", quiet)
        with show_progress("scoring", len(asked) * each, quiet) as show:

            def report(now: BuildProgress) -> None:
                show(now.done)

            given: dict[str, Any] = {"seed": seed, "made_of": made_of, "progress": report}
            if sparse:
                fit_index(retriever.collection, retriever.runner, scorer, asked, depth=sparse, **given)
            else:
                build_table(
                    retriever.collection,
                    scorer,
                    asked,
                    anchor_items=anchor_items,
                    anchors=cast("AnchorChoice", anchors),  # checked there
                    precision="float16" if halves else "float32",
                    **given,
                )
        found = describe_tables(retriever.collection)
    if as_json:
        print_json(found)
    else:
        print_note(_describe_build(folder, found, bool(sparse)), quiet)


def _describe_build(folder: Path, found: Mapping[str, Any], sparse: bool) -> str:
    if sparse:
        done, used = f"{found['pairs']:,} pairs scored, {found['fitted']:,} documents fitted", " --method axn"
    else:
        done, used = f"{found['scored']:,} documents scored, {found['anchor_items']} anchors", ""
    size = format_megabytes(found["pair_bytes" if sparse else "bytes"])
    return f'{folder}: {done}, {size}; next: asterism cross search {folder} "a query"{used}'


@app.command()
def search(
    folder: Folder,
    query: QueryText,
    k: Count = 10,
    calls: Calls = 200,
    method: CrossMethodName = "adacur",
    filter: Filter = None,
    model: Moved = None,
    as_json: Json = False,
) -> None:
    """Search by the cross-encoder's own scores, within a budget of calls."""
    from ..retriever import Retriever
    from ..settings import CrossSearch

    text = read_stdin() if query == STDIN else query
    wanted = parse_filter(filter)
    settings = CrossSearch.from_json({"method": method, "calls": calls})
    with Retriever.open(folder) as retriever:
        scorer = retriever.make_cross_searcher().load_scorer(model)
        ranking = retriever.search(text, k, settings=settings, filter=wanted, rerank=scorer)
    show_ranking(ranking, [], as_json)
    print_note(f"{ranking.calls} calls in {ranking.timings.get('scorer', 0.0):.2f} s")


@app.command()
def info(folder: Folder, as_json: Json = False) -> None:
    """Show the anchors and the scores of an index."""
    from ..retriever import Retriever
    from ..retriever.cross_tables import describe_tables

    with Retriever.open(folder) as retriever:
        found = describe_tables(retriever.collection)
    if as_json:
        print_json(found)
        return
    for name, value in found.items():
        print_row(name, value)
