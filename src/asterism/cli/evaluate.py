"""`asterism evaluate DIR --data BEIR_DIR`: methods side by side."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import InputError, SettingError
from .options import Data, Folder, Json, Model, Quiet, Split, describe_option
from .output import format_megabytes, format_queries, make_console, print_json, print_note, print_row
from .progress import show_progress

if TYPE_CHECKING:
    from ..evaluation.datasets import EvaluationSet
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
    describe_option(
        "--run",
        metavar="FILE",
        help="Write a TREC run to FILE; several methods, to FILE.METHOD each, such as FILE.hybrid-rrf.",
    ),
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
    from ..retriever import Retriever

    found = read_evaluation_set(data, split)
    for query in found.empty:
        print_note(f"asterism: query {query!r} is empty: it finds nothing and counts 0")
    with Retriever.open(folder, model) as retriever:
        chosen = experiment.list_methods(retriever) if methods is None else _parse_methods(methods)
        runs = None if run is None else _choose_files(run, chosen)
        with show_progress("evaluating", len(chosen) * len(found), quiet) as show:
            results = experiment.evaluate(retriever, found, chosen, show, runs)
        size = retriever.info()["bytes"]
    pairs = experiment.compare_methods(results)
    if as_json:
        for result in results:
            print_json(_describe_result(result, pairs, found, size))
    else:
        _print_table(results, pairs, found, size)


def _parse_methods(given: str) -> list[str]:
    chosen = [name.strip() for name in given.split(",") if name.strip()]
    if not chosen or len(set(chosen)) < len(chosen):
        raise SettingError(f"--methods is {given!r}, expected different methods separated by commas")
    return chosen


def _choose_files(run: Path, methods: Sequence[str]) -> dict[str, Path]:
    """Method -> the file for its run."""
    from ..evaluation.experiment import name_run

    if not run.name:  # such as "." or "/"
        raise InputError(f"--run is {run}, expected the name of a file")
    if len(methods) == 1:
        return {methods[0]: run}
    return {method: run.with_name(f"{run.name}.{name_run(method)}") for method in methods}


def _describe_result(
    result: MethodResult, pairs: Sequence[Difference], data: EvaluationSet, size: int
) -> dict[str, Any]:
    """A line of --json; `differences`: this method's nDCG@10 less that of each other one, and how likely by chance."""
    counts = {"queries": len(data), "without_relevant": data.without_relevant, "empty_queries": data.empty}
    facts = {**counts, "bytes": size, "encode_ms": result.encode_ms}
    differences = [pair.of(result.method) for pair in pairs if result.method in (pair.first, pair.second)]
    against = [{"method": pair.second, "difference": pair.difference, "p": pair.p} for pair in differences]
    return {"method": result.method, **result.means(), **result.latency(), **facts, "differences": against}


def _print_table(results: list[MethodResult], pairs: list[Difference], data: EvaluationSet, size: int) -> None:
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
    counts = f"{format_queries(data)}, index {format_megabytes(size)}"
    notes = [f"{counts}; a query is encoded in {encode:.1f} ms, not counted above"]
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
