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
from pathlib import Path
from typing import Any

from ..encoders.checkpoints.checkpoint import Checkpoint
from ..encoders.checkpoints.layouts import open_checkpoint
from ..encoders.loading import find_model_folder
from ..errors import IndexExists, InputError
from ..models.file_hashes import find_hashes
from ..training.examples import TrainingSet
from ..training.late_interaction import LateInteraction
from ..training.learner import Evaluation, Learner
from ..training.log import LOG
from ..training.making import check_backbone, make_learner
from ..training.processes import find_own_number, join_processes, leave_processes, wait_for_all
from ..training.run_folder import hash_examples
from ..training.trainer import Report, Run, Trained
from .card import write_card
from .data import Data, Note, prepare_data, read_examples
from .hard_negatives import NegativeFinder
from .recipe import Recipe


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
    if os.path.lexists(to):
        raise IndexExists(f"{to} exists already: choose another path, or remove it first")
    folder = to.with_name(f"{to.name}.run")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made ({error.strerror}), where a run keeps its state") from error
    join_processes()
    try:
        told = note if find_own_number() == 0 else lambda _: None
        return _run(recipe, to, folder, states or folder / "states", told, report)
    finally:
        leave_processes()


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
        learner.write(to, write_card(to.name, recipe, facts | learner.describe()))
        shutil.copy(folder / LOG, to / LOG)
        shutil.rmtree(folder)
    return trained


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
