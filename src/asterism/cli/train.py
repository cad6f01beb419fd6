"""`asterism train RECIPE --to DIR`: a model from pairs of queries and passages."""

from __future__ import annotations

import os
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ..errors import MissingPackage
from .options import Json, Quiet, describe_argument, describe_option
from .output import print_json, print_note
from .progress import show_progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..training.trainer import Report

RecipeFile = Annotated[
    str,
    describe_argument(
        "RECIPE",
        "A TOML file, or the name of a recipe: colbert, colbertv2, xtr, colxtr, constbert, cross_cls, cross_emb.",
    ),
]
Target = Annotated[Path, describe_option("--to", metavar="DIR", help="The new model folder.")]
Examples = Annotated[
    list[str] | None,
    describe_option(
        "--data",
        metavar="PATH",
        help="Examples, in place of the recipe's: a BEIR folder, or jsonl with query, pos and neg. Repeatable.",
    ),
]
Changes = Annotated[
    list[str] | None,
    describe_option("--set", metavar="SECTION.NAME=VALUE", help="Change a setting of the recipe. Repeatable."),
]

States = Annotated[
    Path | None,
    describe_option(
        "--states",
        metavar="DIR",
        help="Keep what frozen layers make of the texts here, for further runs on the same texts.",
        default="removed at the end",
    ),
]


def train(
    recipe: RecipeFile,
    to: Target,
    data: Examples = None,
    changes: Changes = None,
    states: States = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a late-interaction model or a cross-encoder. An interrupted run continues if it is started again.

    The result is used at once, without torch: asterism index … --model DIR.
    """
    from ..recipes.card import describe_use
    from ..recipes.recipe import read_recipe

    chosen = read_recipe(recipe, changes or ())
    if data:
        chosen = chosen.change("data", train=tuple(data))
    for package in ("torch", "transformers"):
        if find_spec(package) is None:
            raise MissingPackage(f"training needs {package}: pip install 'asterism[train]'")
    from ..recipes.run import run_recipe

    with ExitStack() as showing:
        done = run_recipe(chosen, to, lambda text: print_note(text, quiet), _make_reporter(showing, quiet), states)
    if os.environ.get("RANK", "0") != "0":  # torchrun: one process speaks for all
        return
    best = {} if done.best_score is None else {"score": done.best_score, "best_step": done.best_step}
    if as_json:
        print_json({"path": str(to), "steps": len(done.losses), "loss": done.losses[-1], **best})
        return
    scored = f", MRR@10 {done.best_score:.4f} on the dev part" if done.best_score is not None else ""
    print_note(f"{to}: {len(done.losses):,} steps{scored}; next: {describe_use(chosen, str(to))}", quiet)


def _make_reporter(showing: ExitStack, quiet: bool) -> Callable[[Report], None]:
    """A bar from the first step on, and a line for each evaluation."""
    bars: list[Callable[[int], None]] = []

    def report(now: Report) -> None:
        if not bars:
            bars.append(showing.enter_context(show_progress("training", now.steps, quiet)))
        bars[0](now.step)
        if now.score is not None:
            print_note(f"step {now.step:,}: loss {now.loss:.4f}, MRR@10 {now.score:.4f} on the dev part", quiet)

    return report
