"""The training loop, from the first batch to the best model.

A run lives in a folder: checkpoint.pt (the newest state), best.pt (the best weights so far), log.jsonl (a line for each
step). Started again with the same settings, it continues where its checkpoint is, with the same losses.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from ..errors import InputError, TrainingError
from ..settings import count_threads
from .batches import BatchDrawer
from .examples import Example, TrainingSet
from .learner import Learner
from .log import make_line, open_log
from .optimiser import make_optimiser, set_dropout, use_precision
from .processes import average_gradients, count_processes, find_own_number, make_once, wait_for_all
from .run_state import Best, RunState, Sizes, load_optimiser
from .saving import BEST, CHECKPOINT, load_state, refuse_other_run, save_state
from .settings import TrainingSettings

Evaluate = Callable[[], float]  # higher is better
Refresh = Callable[[], Sequence[Example]]  # the examples with new hard negatives


@dataclass(frozen=True)
class Report:
    """Progress after a step; `score` is that of the dev part if it was measured."""

    step: int
    steps: int
    loss: float
    rate: float
    seconds: float
    score: float | None = None


@dataclass(frozen=True)
class Trained:
    """What came out: the losses of all steps, and the best score on the dev part with its step."""

    losses: list[float]
    best_score: float | None
    best_step: int


class Run:
    """One training run of a model in a folder."""

    def __init__(
        self,
        learner: Learner,
        data: TrainingSet,
        settings: TrainingSettings,
        folder: Path,
        identity: str = "",
    ) -> None:
        """Begin, or continue from the checkpoint in the folder.

        `identity` tells data and model apart from those of other runs: a checkpoint of another run is refused.
        """
        run = settings.run
        self.learner, self.model, self.settings, self.folder = learner, learner.model, settings, folder
        self.steps = run.count_steps(len(data.examples), count_processes())
        self.start, self.losses = 0, list[float]()
        self.best: Best = (None, 0)
        self._sizes = Sizes(self.steps, len(data.queries), len(data.passages))
        described = {"data and model": identity, "kind": learner.kind, "processes": count_processes()}
        self._described = described | describe(settings)
        self._optimiser = make_optimiser(self.model, run)
        self._use_examples(data.examples)
        torch.set_num_threads(count_threads(run.threads))
        set_dropout(self.model, run.dropout)
        folder.mkdir(parents=True, exist_ok=True)
        found = load_state(folder / CHECKPOINT)
        if found is not None:
            refuse_other_run(folder / CHECKPOINT, found, self._described)
            self._load(found)
            if self.best[0] is not None:
                self._read_best()  # found now rather than after the last step, if it is damaged

    def train(
        self,
        evaluate: Evaluate | None = None,
        refresh: Refresh | None = None,
        report: Callable[[Report], None] | None = None,
    ) -> Trained:
        """Train to the last step; then the model has the weights that scored best on the dev part, or the last ones."""
        run, begin = self.settings.run, time.perf_counter()
        with open_log(self.folder, self.losses) as log:
            for step in range(self.start, self.steps):
                if refresh and run.refresh_every and step and step % run.refresh_every == 0:
                    self._use_examples(make_once(refresh))  # by one process: indexes are written by one at a time
                loss = self.update(step)
                is_kept = step + 1 == self.steps or (run.evaluate_every and (step + 1) % run.evaluate_every == 0)
                score = self._evaluate(evaluate) if is_kept else None
                rate = run.rate * run.compute_rate(step, self.steps)
                log.write(make_line(step + 1, loss, rate, score))
                log.flush()
                if is_kept:  # after the log: a resumed run drops lines that are too many, but cannot make up for one
                    self._save(step + 1, score)
                if report and find_own_number() == 0:
                    report(Report(step + 1, self.steps, loss, rate, time.perf_counter() - begin, score))
        if self.best[0] is not None:
            wait_for_all()  # the first process writes the best weights
            self._use_best()
        return Trained(self.losses, *self.best)

    def update(self, step: int) -> float:
        """One update of the weights; returns the loss."""
        run, own = self.settings.run, find_own_number()
        torch.manual_seed(int(np.random.SeedSequence([run.seed, step, own]).generate_state(1)[0]))  # for dropout
        self.model.train()
        share = run.compute_rate(step, self.steps)
        for group in self._optimiser.param_groups:
            group["lr"] = share * group["full_rate"]
        loss = 0.0
        for number in range(step * run.accumulate, (step + 1) * run.accumulate):
            with use_precision(run.precision, self.model):
                part = self.learner.compute_loss(self._drawer.draw(number))
            (part / run.accumulate).backward()
            loss += float(part.detach()) / run.accumulate
        self._refuse_infinite("loss", loss, step)
        trained = [one for one in self.model.parameters() if one.grad is not None]
        average_gradients(trained)
        norm = nn.utils.clip_grad_norm_(trained, run.clip)
        self._refuse_infinite("norm of the gradient", float(norm), step)  # before it is in the weights
        self._optimiser.step()
        self._optimiser.zero_grad(set_to_none=True)
        self.losses.append(loss)
        return loss

    def _use_examples(self, examples: Sequence[Example]) -> None:
        run, processes = self.settings.run, count_processes()
        size = min(run.batch, len(examples) // processes)  # of each process, the same for all
        if min(size * processes * (1 + run.negatives), self._sizes.passages) < 2:
            raise InputError(
                f"there are {len(examples)} examples with {self._sizes.passages} passages, for {processes} processes "
                f"with run.batch {run.batch} and run.negatives {run.negatives}, expected at least two passages to "
                "compare: add examples or negatives"
            )
        self._examples = examples
        self._drawer = BatchDrawer(examples, self._sizes.passages, run.negatives, size * processes, run.seed)

    def _evaluate(self, evaluate: Evaluate | None) -> float | None:
        """By one process: all have the same weights."""
        if evaluate is None:
            return None
        self.model.eval()
        with torch.inference_mode():
            return make_once(evaluate)

    def _save(self, step: int, score: float | None) -> None:
        """Write the state after a step, and the weights if they are the best so far; by one process only."""
        weights = {name: one.detach().cpu() for name, one in self.model.named_parameters() if one.requires_grad}
        better = score is not None and (self.best[0] is None or score > self.best[0])
        if better:
            self.best = (score, step)
        if find_own_number():
            return
        if better:
            save_state(self.folder / BEST, {"run": self._described, "best": list(self.best), "model": weights})
        save_state(
            self.folder / CHECKPOINT,
            {
                "run": self._described,
                "model": weights,
                "optimiser": self._optimiser.state_dict(),
                **RunState(step, self.losses, self.best, list(self._examples)).to_saved(),
            },
        )

    def _load(self, found: Mapping[str, Any]) -> None:
        try:
            state = RunState.from_saved(found, self._sizes)
            self._use_weights(found["model"])
            load_optimiser(self._optimiser, found["optimiser"], state.step)
            self.start, self.losses, self.best = state.step, state.losses, state.best
            self._use_examples(state.examples)
        except (AttributeError, KeyError, TypeError, ValueError, RuntimeError) as error:
            raise TrainingError(
                f"{self.folder / CHECKPOINT} does not fit the model ({error}): remove it to begin anew"
            ) from error

    def _read_best(self) -> dict[str, Any]:
        """The state with the best weights; a run that was killed may have left those of a later step."""
        file = self.folder / BEST
        found = load_state(file)
        if found is None:
            raise TrainingError(f"{file} is missing, expected the best weights: remove {self.folder} to begin anew")
        refuse_other_run(file, found, self._described)
        return found

    def _use_best(self) -> None:
        """Give the model the weights that scored best."""
        found = self._read_best()
        try:
            if found["best"] != list(self.best):
                raise ValueError(f"it has those of step {found['best'][1]}")
            self._use_weights(found["model"])
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise TrainingError(
                f"{self.folder / BEST} does not have the weights of step {self.best[1]} ({error}): remove "
                f"{self.folder} to begin anew"
            ) from error

    def _use_weights(self, weights: Mapping[str, Any]) -> None:
        """Exactly the trained ones."""
        wanted = {name for name, one in self.model.named_parameters() if one.requires_grad}
        if weights.keys() != wanted:
            raise ValueError(f"it has weights of {len(weights)} names, expected {len(wanted)}")
        self.model.load_state_dict(weights, strict=False)

    def _refuse_infinite(self, what: str, value: float, step: int) -> None:
        if not math.isfinite(value):
            is_there = (self.folder / CHECKPOINT).exists()
            kept = (
                f"the last checkpoint is whole, but of these settings: remove {self.folder} to begin anew with others"
            )
            raise TrainingError(
                f"the {what} is {value} in step {step + 1}, expected a number: lower run.rate, now "
                f"{self.settings.run.rate:g}, or raise loss.temperature, now {self.settings.loss.temperature:g}; "
                + (kept if is_there else "there is no checkpoint yet")
            )


def describe(settings: TrainingSettings) -> dict[str, Any]:
    """By section.name, without what does not change the result."""
    return {
        f"{section}.{name}": value
        for section, values in asdict(settings).items()
        for name, value in values.items()
        if name != "threads"
    }
