"""Runs a recipe: examples, hard negatives, training, and a model folder that encoders read without torch.

While `x` is made, `x.run` lies beside it: the examples with their negatives, the states of frozen layers, the newest
checkpoint and the log. Started again, an interrupted run continues there.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..encoders.checkpoints.checkpoint import Checkpoint
from ..encoders.checkpoints.layouts import open_checkpoint
from ..encoders.checkpoints.writing import write_checkpoint
from ..encoders.loading import find_model_folder
from ..errors import IndexExists, InputError
from ..models.file_hashes import find_hashes
from ..training.dev_score import choose_dev_passages, measure_mean_cosine, measure_mrr
from ..training.examples import (
    Example,
    TrainingSet,
    join_training_sets,
    read_training_set,
    read_training_sets,
    split_off,
    write_training_set,
)
from ..training.log import LOG
from ..training.model import LateInteractionModel, make_model
from ..training.processes import find_own_number, join_processes, leave_processes, wait_for_all
from ..training.run_folder import claim_folder, hash_examples
from ..training.texts import TrainingTexts, check_backbone
from ..training.trainer import Report, Run, Trained
from .card import write_card
from .hard_negatives import NegativeFinder
from .recipe import Recipe

MINED = "examples.jsonl"

Note = Callable[[str], None]


@dataclass(frozen=True)
class Data:
    """The examples of training and of the dev part, over the same queries and passages."""

    queries: Sequence[str]
    passages: Sequence[str]
    train: Sequence[Example]
    dev: Sequence[Example]


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
    texts = TrainingTexts(checkpoint, settings.model, data.queries, data.passages)
    if settings.model.train_layers:
        note("computing what the frozen layers make of all texts, once")
        texts.freeze(states, settings.run.threads)
    model = make_model(checkpoint, settings.model, settings.run.seed)
    dev = data.dev[: recipe.data.dev_queries]
    ranked = choose_dev_passages(dev, len(data.passages), recipe.data.dev_passages, settings.run.seed)
    train = TrainingSet(data.queries, data.passages, data.train)
    run = Run(model, texts, train, settings, folder, identify(checkpoint, data))
    if run.start:
        note(f"continuing after step {run.start:,} of {run.steps:,}")
    elif find_own_number() == 0:
        rehearse(folder, checkpoint, model, texts)
    trained = run.train(
        (lambda one: measure_mrr(one, texts, dev, ranked)) if dev else None,
        lambda one: finder.refresh(one, texts, train),
        report,
    )
    finder.close()
    wait_for_all()  # the others may still read the best weights in the folder
    if find_own_number() == 0:
        facts = describe_result(trained, data, dev, len(ranked), time.perf_counter() - begin)
        facts["mean cosine of token vectors"] = round(measure_mean_cosine(model, texts, len(data.passages)), 3)
        write_model(to, checkpoint, model, texts, write_card(to.name, recipe, facts))
        shutil.copy(folder / LOG, to / LOG)
        shutil.rmtree(folder)
    return trained


def read_examples(recipe: Recipe) -> TrainingSet:
    """All examples that the recipe names."""
    if not recipe.data.train:
        raise InputError("data.train is empty, expected BEIR folders or jsonl files: --set data.train='[\"DIR\"]'")
    return read_training_sets(recipe.data.train, recipe.data.split)


def prepare_data(recipe: Recipe, whole: TrainingSet, finder: NegativeFinder, folder: Path, note: Note) -> Data:
    """Keep the dev part apart, and find negatives and teacher scores for the rest unless they are there."""
    train, dev = split_off(whole, recipe.data.dev_share, recipe.training.run.seed)
    if not train.examples:
        raise InputError(f"{', '.join(recipe.data.train)}: no examples are left for training, expected some")
    claim_folder(folder, describe_data(recipe, whole))
    settings, file = recipe.negatives, folder / MINED
    if settings.ranking or settings.teacher:
        if not file.exists() and find_own_number() == 0:
            note(f"looking for hard negatives by {settings.ranking}" if settings.ranking else "asking the teacher")
            write_training_set(finder.find(train), file)
        wait_for_all()
        # The file has only passages that an example uses; those of the data come first, so that their numbers stay.
        train = join_training_sets([TrainingSet([], whole.passages, []), read_training_set(file)])
    if recipe.training.loss.distillation and not any(example.scores for example in train.examples):
        raise InputError(
            f"loss.distillation is {recipe.training.loss.distillation:g}, but no example has a teacher's scores, "
            "expected some: set negatives.teacher, or add pos_scores and neg_scores to the data"
        )
    shift = len(train.queries)
    moved = [replace(example, query=example.query + shift) for example in dev.examples]
    return Data([*train.queries, *dev.queries], train.passages, train.examples, moved)


def describe_data(recipe: Recipe, whole: TrainingSet) -> dict[str, Any]:
    """What hard negatives, scores and the dev part depend on; checkpoints have the settings of model, loss and run."""
    return {
        "examples": hash_examples(whole.queries, whole.passages, whole.examples),
        "run.seed": recipe.training.run.seed,
        **{f"data.{name}": getattr(recipe.data, name) for name in ("dev_share", "dev_queries", "dev_passages")},
        **{f"negatives.{name}": value for name, value in vars(recipe.negatives).items()},
    }


def write_model(to: Path, checkpoint: Checkpoint, model: LateInteractionModel, texts: TrainingTexts, card: str) -> None:
    """Write the model folder."""
    rules = texts.rules
    write_checkpoint(to, checkpoint.folder, model.to_tensors(), model.to_head(), rules.document, rules.query, card)


def rehearse(folder: Path, checkpoint: Checkpoint, model: LateInteractionModel, texts: TrainingTexts) -> None:
    """Write the untrained model and remove it: what cannot be written is found before the training, not after it."""
    with tempfile.TemporaryDirectory(dir=folder) as inside:
        write_model(Path(inside) / "model", checkpoint, model, texts, "")


def describe_result(
    trained: Trained, data: Data, dev: Sequence[Example], ranked: int, seconds: float
) -> dict[str, Any]:
    """For the card."""
    facts: dict[str, Any] = {
        "examples": f"{len(data.train):,}, passages: {len(data.passages):,}",
        "steps": f"{len(trained.losses):,}, in {seconds:,.0f} s",
        "loss of the last steps": round(sum(trained.losses[-50:]) / max(1, len(trained.losses[-50:])), 4),
    }
    if trained.best_score is not None:
        facts["MRR@10 on the dev part"] = (
            f"{trained.best_score:.4f} after step {trained.best_step:,} ({len(dev):,} queries, {ranked:,} passages)"
        )
    return facts


def identify(checkpoint: Checkpoint, data: Data) -> str:
    """A hash of the model's files, the texts and the examples."""
    digest = hashlib.sha256()
    for file, found in sorted(find_hashes(checkpoint.files).items()):
        digest.update(f"{Path(file).name} {found}\n".encode())
    digest.update(hash_examples(data.queries, data.passages, [*data.train, *data.dev]).encode())
    return digest.hexdigest()
