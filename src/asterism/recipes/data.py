"""The data of a run: examples, hard negatives, a teacher's scores, and the part that is kept for evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import CheckpointError, InputError, TrainingError
from ..files.regular_files import read_regular
from ..files.whole_files import write_whole_file
from ..models.file_hashes import hash_file
from ..training.examples import (
    Example,
    TrainingSet,
    join_training_sets,
    merge_by_query,
    read_training_set,
    read_training_sets,
    split_off,
    take_some,
    write_training_set,
)
from ..training.processes import find_own_number, wait_for_all
from ..training.run_folder import claim_folder, hash_examples
from ..training.settings import PairModelSettings
from .hard_negatives import NegativeFinder
from .recipe import Recipe

MINED, MINED_DEV = "examples.jsonl", "dev.jsonl"
HASH_BYTES = 64

Note = Callable[[str], None]


@dataclass(frozen=True)
class Data:
    """The examples of training and of the dev part, over the same queries and passages."""

    queries: Sequence[str]
    passages: Sequence[str]
    train: Sequence[Example]
    dev: Sequence[Example]


def read_examples(recipe: Recipe) -> TrainingSet:
    """The examples that the recipe names."""
    if not recipe.data.train:
        raise InputError("data.train is empty, expected BEIR folders or jsonl files: --set data.train='[\"DIR\"]'")
    whole = read_training_sets(recipe.data.train, recipe.data.split)
    return take_some(whole, recipe.data.most_examples) if recipe.data.most_examples else whole


def prepare_data(recipe: Recipe, whole: TrainingSet, finder: NegativeFinder, folder: Path, note: Note) -> Data:
    """Keep the dev part apart, and find negatives and teacher scores for the rest unless they are there.

    A cross-encoder ranks the candidates of each dev query, so these are found too.
    """
    train, dev = split_off(whole, recipe.data.dev_share, recipe.training.run.seed)
    dev = merge_by_query(dev)
    dev = replace(dev, examples=dev.examples[: recipe.data.dev_queries])
    if not train.examples:
        raise InputError(f"{', '.join(recipe.data.train)}: no examples are left for training, expected some")
    claim_folder(folder, describe_data(recipe, whole))
    settings = recipe.negatives
    if settings.ranking or settings.teacher:
        what = f"looking for hard negatives by {settings.ranking}" if settings.ranking else "asking the teacher"
        train = _find_once(train, finder, folder / MINED, lambda: note(what))
    if isinstance(recipe.training.model, PairModelSettings):
        if settings.ranking and dev.examples:
            dev = _find_once(dev, finder, folder / MINED_DEV, lambda: note("looking for those of the dev part"))
        if not any(example.negatives for example in train.examples):
            raise InputError(
                "no example has hard negatives, from which a cross-encoder learns, expected some: set "
                "negatives.ranking, or add neg to the data"
            )
    if recipe.training.loss.distillation and not any(example.scores for example in train.examples):
        raise InputError(
            f"loss.distillation is {recipe.training.loss.distillation:g}, but no example has a teacher's scores, "
            "expected some: set negatives.teacher, or add pos_scores and neg_scores to the data"
        )
    shift = len(train.queries)
    moved = [replace(example, query=example.query + shift) for example in dev.examples]
    return Data([*train.queries, *dev.queries], whole.passages, train.examples, moved)


def describe_data(recipe: Recipe, whole: TrainingSet) -> dict[str, Any]:
    """What hard negatives, scores and the dev part depend on; checkpoints have the settings of model, loss and run."""
    return {
        "examples": hash_examples(whole.queries, whole.passages, whole.examples),
        "run.seed": recipe.training.run.seed,
        **{f"data.{name}": getattr(recipe.data, name) for name in ("dev_share", "dev_queries", "dev_passages")},
        **{f"negatives.{name}": value for name, value in vars(recipe.negatives).items()},
    }


def _find_once(examples: TrainingSet, finder: NegativeFinder, file: Path, tell: Callable[[], None]) -> TrainingSet:
    """The examples with negatives and scores: found by one process, and kept in a file beside its hash."""
    proof = file.with_name(f"{file.name}.sha256")
    if not proof.exists() and find_own_number() == 0:
        tell()
        write_training_set(finder.find(examples), file)
        write_whole_file(proof, hash_file(file).encode())
    wait_for_all()
    try:
        whole = read_regular(proof, HASH_BYTES).decode() == hash_file(file)
    except (OSError, ValueError, CheckpointError):
        whole = False
    if not whole:
        raise TrainingError(f"{file} is not what was written: remove {file.parent} to begin anew")
    # The file has only passages that an example uses; those of the data come first, so that their numbers stay.
    return join_training_sets([TrainingSet([], examples.passages, []), read_training_set(file)])
