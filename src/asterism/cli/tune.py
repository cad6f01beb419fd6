"""`asterism tune DIR --data BEIR_DIR`: the weights of hybrid search, for one's own judgements."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from .evaluate import Data, Split
from .options import Folder, Json, Model, Quiet
from .output import print_json, print_note, print_row
from .progress import progress_bar

DryRun = Annotated[bool, typer.Option("--dry-run", help="Measure, but leave the index as it is.")]


def tune(
    folder: Folder,
    data: Data,
    split: Split = "train",
    dry_run: DryRun = False,
    model: Model = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find the weights of the views for hybrid search; they are kept with the index if they gain something."""
    from ..evaluation.datasets import read_evaluation_set
    from ..evaluation.tuning import tune
    from ..retriever import Retriever
    from ..settings import VIEWS

    found = read_evaluation_set(data, split)
    with Retriever.open(folder, model) as retriever:
        with progress_bar("searching", len(found), quiet) as show:
            tuned = tune(retriever, found, progress=show)
        kept = tuned.gain > 0 and not dry_run
        if kept:
            retriever.fusion = replace(retriever.fusion, fusion="linear", weights=tuned.weights)
    low, high = tuned.interval
    facts = {"queries": len(found), "gain": tuned.gain, "interval": [low, high], "p": tuned.p, "kept": kept}
    if as_json:
        print_json({"weights": dict(zip(VIEWS, tuned.weights, strict=True)), **facts})
        return
    weights = ", ".join(f"{view} {weight:.2f}" for view, weight in zip(VIEWS, tuned.weights, strict=True))
    print_row(f"weights: {weights}")
    change = f"nDCG@10 {100 * tuned.before.mean():.2f} -> {100 * tuned.after.mean():.2f}"
    gain = f"{100 * tuned.gain:+.2f} [{100 * low:+.2f}, {100 * high:+.2f}], p = {tuned.p:.4f}"
    print_row(f"{change} on queries that did not choose them: {gain}, {len(found):,} queries")
    print_note("kept with the index" if kept else "the index is as it was", quiet)
