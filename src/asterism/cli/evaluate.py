"""`asterism evaluate DIR --data BEIR_DIR`: methods side by side."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import InputError, SettingError
from .options import Data, Folder, Json, Model, Quiet, Split, describe_option
from .output import format_megabytes, make_console, print_json, print_row
from .progress import show_progress

if TYPE_CHECKING:
    from ..evaluation.experiment import Difference, MethodResult

Methods = Annotated[
    str | None,
    describe_option(
        "--methods",
        help="Separated by commas, such as colbert,dense,lexical,hybrid,hybrid:rrf.",
        default="all that the index has the views for",
    ),
]
RunFile = Annotated[
    Path | None,
    describe_option("--run", metavar="FILE", help="Write a TREC run to FILE; several methods, to FILE.METHOD each."),
]


def evaluate(
    folder: Folder,
    data: Data,
    split: Split = "test",
    methods: Methods = None,
    run: RunFile = None,
    model: Model = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure methods on judged queries: quality, latency, and whether they differ significantly."""
    from ..evaluation import experiment
    from ..evaluation.datasets import read_evaluation_set
    from ..results import write_trec_run
    from ..retriever import Retriever

    if run is not None and not os.path.isdir(run.parent):  # refused now, not after minutes of work
        raise InputError(f"--run is {run}, but there is no folder {run.parent}: create it first")
    found = read_evaluation_set(data, split)
    with Retriever.open(folder, model) as retriever:
        chosen = experiment.list_methods(retriever) if methods is None else _parse_methods(methods)
        with show_progress("evaluating", len(chosen) * len(found.queries), quiet) as show:
            results = experiment.evaluate(retriever, found, chosen, show)
        size = retriever.info()["bytes"]
    if run is not None:
        for result in results:
            path = run if len(results) == 1 else run.with_name(f"{run.name}.{result.method}")
            write_trec_run(path, result.run, f"asterism-{result.method}")
    pairs = experiment.compare_methods(results)
    if as_json:
        for result in results:
            print_json(_describe_result(result, len(found.queries), size))
    else:
        _print_table(results, pairs, len(found.queries), size)


def _parse_methods(given: str) -> list[str]:
    chosen = [name.strip() for name in given.split(",") if name.strip()]
    if not chosen or len(set(chosen)) < len(chosen):
        raise SettingError(f"--methods is {given!r}, expected different methods separated by commas")
    return chosen


def _describe_result(result: MethodResult, queries: int, size: int) -> dict[str, Any]:
    facts = {"queries": queries, "bytes": size, "encode_ms": result.encode_ms}
    return {"method": result.method, **result.means(), **result.latency(), **facts}


def _print_table(results: list[MethodResult], pairs: list[Difference], queries: int, size: int) -> None:
    """Columns on a terminal, tabs when piped."""
    measures, latency = list(results[0].means()), list(results[0].latency())
    header = ["method", *measures, *(name.replace("_", " ") for name in latency)]
    rows = [
        [result.method]
        + [f"{100 * value:.2f}" for value in result.means().values()]
        + [f"{value:.2f}" for value in result.latency().values()]
        for result in results
    ]
    encode = sum(result.encode_ms for result in results) / len(results)
    notes = [
        f"{queries:,} queries, index {format_megabytes(size)}; a query is encoded in {encode:.1f} ms, not counted above"
    ]
    for pair in pairs:
        points = f"{100 * pair.difference:+.2f} nDCG@10"
        notes.append(f"{pair.first} - {pair.second}: {points}, p = {pair.p:.4f} (paired randomisation, Holm)")
    if not sys.stdout.isatty():
        for row in [header, *rows]:
            print_row(*row)
        for note in notes:
            print_row(f"# {note}")
        return
    from rich.table import Table

    table = Table(*header, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*row)
    console = make_console()
    console.print(table)
    for note in notes:
        console.print(note, style="dim")
