"""Runs that are stopped on the way, and what must be the same after they are resumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from asterism.recipes.recipe import Recipe
from asterism.recipes.run import run_recipe
from asterism.training.saving import CHECKPOINT
from asterism.training.trainer import Report


class Stopped(Exception):
    pass


def stop_after(step: int) -> Callable[[Report], None]:
    def report(now: Report) -> None:
        if now.step == step:
            raise Stopped

    return report


def compare_resumed(recipe: Recipe, folder: Path, files: Sequence[str]) -> None:
    """A recipe of eight steps that keeps a checkpoint after four: whole, and stopped twice, it gives the same files."""
    whole = run_recipe(recipe, folder / "whole")
    for step in (1, 6):  # before the first checkpoint, and after it
        with pytest.raises(Stopped):
            run_recipe(recipe, folder / "parts", report=stop_after(step))
    assert (folder / "parts.run" / CHECKPOINT).exists()
    notes: list[str] = []
    resumed = run_recipe(recipe, folder / "parts", notes.append)
    assert "continuing after step 4 of 8" in notes
    assert resumed.losses == whole.losses
    assert whole.best_score is not None
    assert (resumed.best_score, resumed.best_step) == (whole.best_score, whole.best_step)
    for name in (*files, "log.jsonl"):
        assert (folder / "parts" / name).read_bytes() == (folder / "whole" / name).read_bytes()
