"""What a checkpoint says of a run. It comes from a file, so nothing in it is used before it is checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .training_set import Example

Best = tuple[float | None, int]
MOMENTS = ("exp_avg", "exp_avg_sq")  # of AdamW, one for each weight


@dataclass(frozen=True)
class Sizes:
    """Of the run that goes on: updates in all, queries and passages."""

    steps: int
    queries: int
    passages: int


@dataclass(frozen=True)
class RunState:
    """Updates that are done, their losses, the best score with its step, and the examples of the last refresh."""

    step: int
    losses: list[float]
    best: Best
    examples: list[Example]

    @classmethod
    def from_saved(cls, found: Mapping[str, Any], sizes: Sizes) -> RunState:
        """Read what `to_saved` made; KeyError, TypeError or ValueError if it is anything else."""
        step = _check_number("step", found["step"], 1, sizes.steps)
        losses = [_check_score("a loss", loss) for loss in found["losses"]]
        if len(losses) != step:
            raise ValueError(f"it has {len(losses)} losses of {step} steps")
        score, best_step = found["best"]
        best = (
            (None if score is None else _check_score("the best score", score)),
            _check_number("its step", best_step, 0, step),
        )
        return cls(step, losses, best, [_read_example(one, sizes) for one in found["examples"]])

    def to_saved(self) -> dict[str, Any]:
        """Plain values, which are read without running code."""
        examples = [(one.query, list(one.positives), list(one.negatives), dict(one.scores)) for one in self.examples]
        return {"step": self.step, "losses": self.losses, "best": list(self.best), "examples": examples}


def load_optimiser(optimiser: torch.optim.Optimizer, saved: Mapping[str, Any], step: int) -> None:
    """Take over the moments after a step; rates and the like are those of the settings."""
    own = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": saved["state"], "param_groups": own})
    if not saved["state"]:
        raise ValueError("it has no moments")
    for weight, moments in optimiser.state.items():  # a key that is no weight was kept as it is
        if float(moments["step"]) != step or any(moments[name].shape != weight.shape for name in MOMENTS):
            raise ValueError("its moments are not those of the weights")


def _read_example(saved: Sequence[Any], sizes: Sizes) -> Example:
    query, positives, negatives, scores = saved
    checked = [
        tuple(_check_number("a passage", one, 0, sizes.passages - 1) for one in numbers)
        for numbers in (positives, negatives, scores)
    ]
    if not checked[0]:
        raise ValueError("an example has no positive")
    found = {one: _check_score("a teacher's score", score) for one, score in scores.items()}
    return Example(_check_number("a query", query, 0, sizes.queries - 1), checked[0], checked[1], found)


def _check_number(what: str, value: object, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{what} is {value!r}, expected {least} to {most}")
    return value


def _check_score(what: str, value: object) -> float:
    if not isinstance(value, float | int) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"{what} is {value!r}")
    return float(value)
