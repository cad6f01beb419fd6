"""`asterism tune DIR --data BEIR_DIR`: weights of hybrid search from your own judgements."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from .options import Data, Folder, Json, Model, Quiet, Split, describe_option
from .output import format_queries, print_json, print_note, print_row
from .progress import show_progress

if TYPE_CHECKING:
    from ..evaluation.tuning import Tuning

DryRun = Annotated[bool, describe_option("--dry-run", help="Measure, but do not change the index.")]


def tune(
    folder: Folder,
    data: Data,
    split: Split = "train",
    dry_run: DryRun = False,
    model: Model = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Tune the weights of hybrid search on judged queries; the index keeps them if they help significantly."""
    from ..evaluation.datasets import read_evaluation_set
    from ..evaluation.tuning import tune
    from ..retriever import Retriever
    from ..settings import VIEWS

    found = read_evaluation_set(data, split)
    with Retriever.open(folder, model) as retriever:
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
