"""`asterism tune DIR [--data BEIR_DIR]`: weights of hybrid search, from the index or from your judgements."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ..errors import InputError
from .options import Folder, Json, Model, Quiet, Split, describe_option
from .output import format_queries, print_json, print_note, print_row
from .progress import show_progress, show_waiting
from .readability import describe_readable

if TYPE_CHECKING:
    from ..evaluation.tuning import Tuning
    from ..retriever import Retriever

Judgements = Annotated[
    Path | None,
    describe_option(
        "--data",
        metavar="DIR",
        help="Judged queries in BEIR's layout: queries.jsonl and qrels/SPLIT.tsv.",
        default="none: sentences of the documents themselves",
    ),
]
DryRun = Annotated[bool, describe_option("--dry-run", help="Measure, but do not change the index.")]


def tune(
    folder: Folder,
    data: Judgements = None,
    split: Split = "train",
    dry_run: DryRun = False,
    model: Model = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Tune the weights of hybrid search: by judged queries, if they help significantly, or without any.

    Without judgements, sentences are taken out of documents, and each view looks for the rest by them.
    """
    from ..retriever import Retriever

    with Retriever.open(folder, model) as retriever:
        if data is None:
            _tune_without_judgements(retriever, dry_run, as_json, quiet)
        else:
            _tune_by_judgements(retriever, data, split, dry_run, as_json, quiet)


def _tune_without_judgements(retriever: Retriever, dry_run: bool, as_json: bool, quiet: bool) -> None:
    """Measure the views anew; weights from judgements are forgotten."""
    with show_waiting("measuring"):
        profile = retriever.measure(keep=not dry_run)
    if not profile.pairs:
        raise InputError(f"{retriever.path} has too few documents of several sentences to measure: add more")
    if not dry_run and retriever.fusion.weights is not None:
        retriever.fusion = replace(retriever.fusion, fusion="standard", weights=None)
    if as_json:
        views = {view: {"found": one.found, "weight": profile.weigh(view)} for view, one in profile.views.items()}
        facts = {"pairs": profile.pairs, "readable": profile.readable, "kept": not dry_run}
        print_json({"views": views, **facts})
        return
    for view, one in profile.views.items():
        share = f"finds {one.found:.0%} of {profile.pairs} documents by a sentence of theirs"
        print_row(f"{view}: {share}, weight {profile.weigh(view):.2f}")
    print_row(describe_readable(profile.readable))
    print_note("kept with the index" if not dry_run else "the index was not changed: --dry-run", quiet)


def _tune_by_judgements(
    retriever: Retriever, data: Path, split: str, dry_run: bool, as_json: bool, quiet: bool
) -> None:
    from ..evaluation.datasets import read_evaluation_set
    from ..evaluation.tuning import tune
    from ..settings import VIEWS

    found = read_evaluation_set(data, split)
    with show_progress("searching", len(found), quiet) as show:
        tuned = tune(retriever, found, progress=show)
    kept = tuned.helps and not dry_run
    if kept:
        retriever.fusion = replace(retriever.fusion, weights=tuned.weights)
    low, high = tuned.interval
    if as_json:
        counts = {"queries": len(found), "without_relevant": found.without_relevant}
        facts = {"gain": tuned.gain, "interval": [low, high], "p": tuned.p, "kept": kept}
        print_json({"weights": dict(zip(VIEWS, tuned.weights, strict=True)), **counts, **facts})
        return
    weights = ", ".join(f"{view} {weight:.2f}" for view, weight in zip(VIEWS, tuned.weights, strict=True))
    print_row(f"weights: {weights}")
    change = f"nDCG@10 {100 * tuned.before.mean():.2f} -> {100 * tuned.after.mean():.2f}"
    gain = f"{100 * tuned.gain:+.2f} [{100 * low:+.2f}, {100 * high:+.2f}], p = {tuned.p:.4f}"
    print_row(f"{change} on queries that did not choose them: {gain}, {format_queries(found)}")
    print_note(_explain_outcome(tuned, kept), quiet)


def _explain_outcome(tuned: Tuning, kept: bool) -> str:
    """What happened to the index, and why."""
    from ..evaluation.tuning import CHANCE

    if kept:
        return "kept with the index"
    if tuned.helps:
        return "the index was not changed: --dry-run"
    reason = f"the gain may be chance, p is not below {CHANCE}" if tuned.gain > 0 else "there is no gain"
    return f"the index was not changed: {reason}"
