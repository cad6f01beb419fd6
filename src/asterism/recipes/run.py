"""Runs a recipe: examples, hard negatives, training, and a model folder that is used without torch.

While `x` is made, `x.run` lies beside it: the examples with their negatives, the states of frozen layers, the newest
checkpoint and the log. Started again, an interrupted run continues there.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..encoders.checkpoints.checkpoint import Checkpoint
from ..encoders.checkpoints.layouts import open_checkpoint
from ..encoders.checkpoints.model_files import make_model_folder
from ..encoders.loading import find_model_folder
from ..errors import IndexExists, InputError, TrainingError
from ..files.regular_files import read_regular
from ..models.file_hashes import find_hashes
from ..training.examples import TrainingSet
from ..training.late_interaction import LateInteraction
from ..training.learner import Evaluation, Learner
from ..training.log import LOG
from ..training.making import check_backbone, make_learner
from ..training.processes import find_own_number, join_processes, leave_processes, wait_for_all
from ..training.run_folder import hash_examples, hold_run_folder, remove_run_folder
from ..training.trainer import Report, Run, Trained
from .card import write_card
from .data import Data, Note, prepare_data, read_examples
from .hard_negatives import NegativeFinder
from .recipe import Recipe

LARGEST_LOG = 1 << 30  # bytes


def run_recipe(
    recipe: Recipe,
    to: Path,
    note: Note = lambda _: None,
    report: Callable[[Report], None] | None = None,
    states: Path | None = None,
) -> Trained:
    """Train, and write the model to the new folder `to`.

    states: where the states of frozen layers are kept for further runs; None removes them with the run's folder.
    """
    if not to.name:
        raise IndexExists(f"{str(to)!r} was given for the model, expected the path of a new folder")
    folder = to.with_name(f"{to.name}.run")
    _refuse_paths(to, folder, states)
    join_processes()
    try:
        told = note if find_own_number() == 0 else lambda _: None
        with hold_run_folder(folder):
            _refuse_paths(to, folder, states)  # once more: another run may have ended just now
            return _run(recipe, to, folder, states or folder / "states", told, report)
    except RuntimeError as error:
        if "memory" not in str(error):
            raise
        raise TrainingError(
            f"there is not enough memory ({error}): lower run.batch, model.batch_tokens or the sizes of the head"
        ) from error
    finally:
        leave_processes()


def _refuse_paths(to: Path, folder: Path, states: Path | None) -> None:
    """Refuse a model that is there, and places for states where none can be; before anything that takes time."""
    if os.path.lexists(to):
        with suppress(OSError):
            logs = [read_regular(one / LOG, LARGEST_LOG) for one in (to, folder)]
            if logs[0] == logs[1]:  # killed when all was done but this
                remove_run_folder(folder)
        raise IndexExists(f"{to} exists already: choose another path, or remove it first")
    if states is None:
        return
    if states.exists() and not states.is_dir():
        raise InputError(f"{states} is not a folder, expected one for the states of frozen layers")
    within = (states.resolve(), *states.resolve().parents)
    for path, what in ((to, "which the model will be"), (folder, "which is removed at the end")):
        if path.resolve() in within:
            raise InputError(f"{states} is inside {path}, {what}: choose another folder for the states")


def _run(
    recipe: Recipe, to: Path, folder: Path, states: Path, note: Note, report: Callable[[Report], None] | None
) -> Trained:
    begin, settings = time.perf_counter(), recipe.training
    checkpoint = open_checkpoint(find_model_folder(settings.model.backbone))
    check_backbone(checkpoint, settings.model)
    whole = read_examples(recipe)
    finder = NegativeFinder(recipe.negatives, whole.passages, folder)
    data = prepare_data(recipe, whole, finder, folder, note)
    note(f"{len(data.train):,} examples for training, {len(data.dev):,} for dev, {len(data.passages):,} passages")
    train = TrainingSet(data.queries, data.passages, data.train)
    learner = make_learner(checkpoint, settings, train, states, note)
    evaluation = learner.make_evaluation(data.dev, recipe.data.dev_passages, settings.run.seed)
    run = Run(learner, train, settings, folder, identify(checkpoint, data))
    if run.start:
        note(f"continuing after step {run.start:,} of {run.steps:,}")
    elif find_own_number() == 0:
        rehearse(folder, learner)
    trained = run.train(
        evaluation.measure if evaluation else None,
        (lambda: finder.refresh(learner, train)) if isinstance(learner, LateInteraction) else None,
        report,
    )
    finder.close()
    wait_for_all()  # the others may still read the best weights in the folder
    if find_own_number() == 0:
        facts = describe_result(trained, data, evaluation, time.perf_counter() - begin)
        write_model(learner, to, folder, write_card(to.name, recipe, facts | learner.describe()))
        remove_run_folder(folder)
    return trained


def write_model(learner: Learner, to: Path, folder: Path, card: str) -> None:
    """Write the model with the log of its run: both or nothing."""
    with tempfile.TemporaryDirectory(dir=folder) as inside, make_model_folder(to) as new:
        made = Path(inside) / "model"
        learner.write(made, card)
        for file in list(made.iterdir()):
            shutil.move(file, new / file.name)
        shutil.copy(folder / LOG, new / LOG)


def rehearse(folder: Path, learner: Learner) -> None:
    """Write the untrained model and remove it: what cannot be written is found before the training, not after it."""
    with tempfile.TemporaryDirectory(dir=folder) as inside:
        learner.write(Path(inside) / "model", "")


def describe_result(trained: Trained, data: Data, evaluation: Evaluation | None, seconds: float) -> dict[str, Any]:
    """For the card."""
    facts: dict[str, Any] = {
        "examples": f"{len(data.train):,}, passages: {len(data.passages):,}",
        "steps": f"{len(trained.losses):,}, in {seconds:,.0f} s",
        "loss of the last steps": round(sum(trained.losses[-50:]) / max(1, len(trained.losses[-50:])), 4),
    }
    if evaluation and trained.best_score is not None:
        facts["MRR@10 on the dev part"] = (
            f"{trained.best_score:.4f} after step {trained.best_step:,} ({evaluation.about})"
        )
    return facts


def identify(checkpoint: Checkpoint, data: Data) -> str:
    """A hash of the model's files, the texts and the examples."""
    digest = hashlib.sha256()
    for file, found in sorted(find_hashes(checkpoint.files).items()):
        digest.update(f"{Path(file).name} {found}\n".encode())
    digest.update(hash_examples(data.queries, data.passages, [*data.train, *data.dev]).encode())
    return digest.hexdigest()
