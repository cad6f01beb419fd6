"""The loop: it learns, resumes exactly, keeps its last checkpoint whole, and says what is wrong in one line."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from asterism.encoders.checkpoints.layouts import open_checkpoint
from asterism.errors import CheckpointError, InputError, SettingError, TrainingError
from asterism.recipes.run import run_recipe
from asterism.training import saving, trainer
from asterism.training.batches import BatchDrawer
from asterism.training.dev_score import measure_mrr
from asterism.training.examples import Example, read_training_set
from asterism.training.late_interaction import LateInteraction
from asterism.training.model import make_model
from asterism.training.saving import CHECKPOINT, load_state, save_state
from asterism.training.settings import RunSettings
from asterism.training.texts import TrainingTexts
from tests import layouts
from tests.full_disks import limit_file_size
from tests.training.resuming import Stopped, compare_resumed, stop_after
from tests.training.tiny import make_recipe, write_pairs


def test_it_learns(model: Path, pairs: Path, tmp_path: Path) -> None:
    done = run_recipe(make_recipe("colbert", model, pairs, "run.steps=40", "run.dropout=0"), tmp_path / "x")
    assert np.mean(done.losses[-5:]) < 0.8 * np.mean(done.losses[:5])
    lines = [json.loads(line) for line in (tmp_path / "x" / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == list(range(1, 41))
    assert [line["loss"] for line in lines] == done.losses
    assert {line["step"] for line in lines if line["score"] is not None} == set(range(4, 41, 4))
    assert not (tmp_path / "x.run").exists()


@pytest.mark.parametrize(
    "changes",
    [
        (),
        ("model.train_layers=2", "run.accumulate=2"),
        ("negatives.ranking=lexical", "run.negatives=2", "run.refresh_every=3"),
    ],
    ids=len,
)
def test_a_resumed_run_has_the_same_losses(model: Path, pairs: Path, tmp_path: Path, changes: tuple[str, ...]) -> None:
    compare_resumed(make_recipe("xtr", model, pairs, *changes), tmp_path, ("model.safetensors", "heads.safetensors"))


def test_a_checkpoint_of_another_run(model: Path, pairs: Path, tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        run_recipe(make_recipe("colbert", model, pairs), tmp_path / "x", report=stop_after(5))
    with pytest.raises(TrainingError, match=r"is of another run: loss\.temperature was 0\.03125 and is 0\.5; choose"):
        run_recipe(make_recipe("colbert", model, pairs, "loss.temperature=0.5"), tmp_path / "x")
    with pytest.raises(TrainingError, match="is of another run"):
        run_recipe(make_recipe("colbert", model, pairs, "model.dimensions=8"), tmp_path / "x")


@pytest.mark.parametrize("damage", [b"", b"nothing", None], ids=["empty", "text", "cut"])
def test_a_damaged_checkpoint(model: Path, pairs: Path, tmp_path: Path, damage: bytes | None) -> None:
    recipe = make_recipe("colbert", model, pairs)
    with pytest.raises(Stopped):
        run_recipe(recipe, tmp_path / "x", report=stop_after(5))
    file = tmp_path / "x.run" / CHECKPOINT
    file.write_bytes(file.read_bytes()[:1000] if damage is None else damage)
    with pytest.raises(TrainingError, match="is damaged, expected the state of a run: remove it to begin anew"):
        run_recipe(recipe, tmp_path / "x")


def test_a_loss_that_is_not_a_number(model: Path, pairs: Path, tmp_path: Path) -> None:
    settings = make_recipe("colbert", model, pairs).training
    data, checkpoint = read_training_set(pairs), open_checkpoint(model)
    texts = TrainingTexts(checkpoint, settings.model, data.queries, data.passages)
    made = make_model(checkpoint, settings.model, 1)
    run = trainer.Run(LateInteraction(checkpoint, made, texts, settings.loss), data, settings, tmp_path)
    with torch.no_grad():
        made.projection.weight[0, 0] = float("nan")
    message = r"the loss is nan in step 1, expected a number: lower run\.rate, now 0\.001.* there is no checkpoint yet"
    with pytest.raises(TrainingError, match=message):
        run.train()


def test_a_gradient_that_is_not_a_number(model: Path, pairs: Path, tmp_path: Path) -> None:
    """It is found before it is in the weights, so that no checkpoint has it."""
    settings = make_recipe("colbert", model, pairs).training
    data, checkpoint = read_training_set(pairs), open_checkpoint(model)
    texts = TrainingTexts(checkpoint, settings.model, data.queries, data.passages)
    made = make_model(checkpoint, settings.model, 1)
    made.projection.weight.register_hook(lambda gradient: gradient * float("inf"))
    with pytest.raises(TrainingError, match=r"the norm of the gradient is (nan|inf) in step 1, expected a number"):
        trainer.Run(LateInteraction(checkpoint, made, texts, settings.loss), data, settings, tmp_path).train()
    assert torch.isfinite(made.projection.weight).all()


def test_the_log_has_every_step_of_the_checkpoint(
    model: Path, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = make_recipe("colbert", model, pairs)

    def save_and_stop(file: Path, state: Any) -> None:
        save_state(file, state)
        if file.name == CHECKPOINT:
            raise Stopped

    with monkeypatch.context() as patched:
        patched.setattr(trainer, "save_state", save_and_stop)
        with pytest.raises(Stopped):
            run_recipe(recipe, tmp_path / "x")
    run_recipe(recipe, tmp_path / "x")
    lines = (tmp_path / "x" / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == list(range(1, 9))


def test_equal_vectors_for_all_texts_are_not_the_best_score(model: Path, pairs: Path) -> None:
    settings = make_recipe("colbert", model, pairs).training
    data, checkpoint = read_training_set(pairs), open_checkpoint(model)
    texts = TrainingTexts(checkpoint, settings.model, data.queries, data.passages)
    made = make_model(checkpoint, settings.model, 1).eval()
    dev = data.examples[:30]
    with torch.inference_mode():
        assert measure_mrr(made, texts, dev, range(60)) > 0.1
        made.projection.weight.zero_()
        assert measure_mrr(made, texts, dev, range(60)) == 0


def test_fewer_examples_than_a_batch(model: Path, tmp_path: Path) -> None:
    few = write_pairs(tmp_path / "few.jsonl", 3)
    done = run_recipe(make_recipe("colbert", model, few, "data.dev_share=0", "run.steps=0"), tmp_path / "x")
    assert len(done.losses) == 2  # one in each epoch
    assert done.best_score is None
    alone = write_pairs(tmp_path / "alone.jsonl", 1)
    with pytest.raises(InputError, match=r"there are 1 examples .* expected at least two passages to compare"):
        run_recipe(make_recipe("colbert", model, alone, "data.dev_share=0"), tmp_path / "y")


def test_what_cannot_be_written_is_found_before_training(model: Path, pairs: Path, tmp_path: Path) -> None:
    recipe = make_recipe("colbert", model, pairs)
    size = (model / "tokenizer.json").stat().st_size

    def report(now: trainer.Report) -> None:
        raise AssertionError("training began")

    with limit_file_size(size // 2), pytest.raises(CheckpointError, match="cannot be written"):
        run_recipe(recipe, tmp_path / "x", report=report)


def test_a_full_disk_leaves_the_checkpoint_whole(tmp_path: Path) -> None:
    file = tmp_path / CHECKPOINT
    save_state(file, {"step": 1})
    before = file.read_bytes()
    with (
        limit_file_size(4096),
        pytest.raises(TrainingError, match=r"could not be written .* the one before it is whole"),
    ):
        save_state(file, {"weights": torch.zeros(100_000)})
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [CHECKPOINT]


def test_ctrl_c_while_a_checkpoint_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """torch makes another error of it."""
    file = tmp_path / CHECKPOINT
    save_state(file, {"step": 1})

    class Interrupted(io.FileIO):
        def write(self, _: Any) -> int:
            raise KeyboardInterrupt

    monkeypatch.setattr(saving, "open", Interrupted, raising=False)
    with pytest.raises(KeyboardInterrupt):
        save_state(file, {"weights": torch.zeros(100_000)})
    assert load_state(file) == {"step": 1}
    assert [path.name for path in tmp_path.iterdir()] == [CHECKPOINT]


def test_no_examples(model: Path, tmp_path: Path) -> None:
    recipe = make_recipe("colbert", model, tmp_path / "missing.jsonl")
    with pytest.raises(InputError):
        run_recipe(recipe, tmp_path / "x")
    with pytest.raises(InputError, match=r"data\.train is empty"):
        run_recipe(recipe.change("data", train=()), tmp_path / "x")
    assert not (tmp_path / "x").exists()


# --- what a folder of an unfinished run is made of ---


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        (("negatives.ranking=dense",), "negatives.ranking was 'lexical' and is 'dense'"),
        (("negatives.count=3",), "negatives.count was 7 and is 3"),
        (("data.dev_share=0.3",), "data.dev_share was 0.15 and is 0.3"),
        (("run.seed=2",), "run.seed was 1 and is 2"),
        (("data.train=OTHER",), "examples was "),
    ],
    ids=str,
)
def test_negatives_of_another_run(
    model: Path, pairs: Path, tmp_path: Path, changes: tuple[str, ...], difference: str
) -> None:
    other = write_pairs(tmp_path / "other.jsonl", 40)
    given = ("negatives.ranking=lexical", "run.negatives=1")
    with pytest.raises(Stopped):
        run_recipe(make_recipe("colbert", model, pairs, *given), tmp_path / "x", report=stop_after(1))
    changed = make_recipe("colbert", model, pairs, *given, *(one.replace("OTHER", f'["{other}"]') for one in changes))
    with pytest.raises(TrainingError) as error:
        run_recipe(changed, tmp_path / "x")
    assert str(error.value).startswith(f"{tmp_path / 'x.run'} is of another run: {difference}")
    assert str(error.value).endswith("or remove it to begin anew")
    # Other settings of the loop may use the same negatives, as long as there is no checkpoint.
    run_recipe(make_recipe("colbert", model, pairs, *given, "run.rate=1e-4"), tmp_path / "x")


def test_a_folder_that_is_not_of_a_run(model: Path, pairs: Path, tmp_path: Path) -> None:
    (tmp_path / "x.run").mkdir()
    (tmp_path / "x.run" / "examples.jsonl").write_text("{}")
    with pytest.raises(TrainingError, match=r"x\.run does not say which run it is of"):
        run_recipe(make_recipe("colbert", model, pairs), tmp_path / "x")


@pytest.mark.parametrize(
    ("backbone", "change", "message"),
    [
        (layouts.xtr, "model.train_layers=1", r"train_layers is 1, which needs a BERT, .* set it to 0"),
        (layouts.sentence_transformer, "model.train_layers=9", "train_layers is 9, expected at most the 4 layers"),
        (layouts.bge_m3, 'model.query_marker="[unused0]"', r"has no token '\[unused0\]', expected one for the query"),
        (layouts.bge_m3, "model.document_length=500", "document_length is 500, expected at most 128"),
    ],
    ids=["t5", "layers", "marker", "length"],
)
def test_a_backbone_that_does_not_fit(
    pairs: Path, tmp_path: Path, backbone: Callable[[Path], Path], change: str, message: str
) -> None:
    """It is refused before hard negatives are looked for."""
    folder = backbone(tmp_path / "model")
    recipe = make_recipe("xtr", folder, pairs, "negatives.ranking=lexical", "run.negatives=1", change)
    with pytest.raises((SettingError, CheckpointError), match=message):
        run_recipe(recipe, tmp_path / "x")
    assert not (tmp_path / "x.run" / "examples.jsonl").exists()


def test_a_place_where_no_folder_can_be(model: Path, pairs: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "x.run").write_text("")
    for to in (tmp_path / "file" / "x", tmp_path / "x"):
        with pytest.raises(InputError, match=r"x\.run cannot be made \(.*\), where a run keeps its state"):
            run_recipe(make_recipe("colbert", model, pairs), to)


def test_distillation_without_a_teacher(model: Path, pairs: Path, tmp_path: Path) -> None:
    recipe = make_recipe("colbert", model, pairs, "loss.distillation=1", "run.negatives=1")
    with pytest.raises(InputError, match=r"loss\.distillation is 1, but no example has a teacher's scores"):
        run_recipe(recipe, tmp_path / "x")


# --- batches ---


EXAMPLES = [Example(i, (2 * i, 2 * i + 1) if i % 3 else (2 * i,), (90 + i % 5,) if i % 2 else ()) for i in range(20)]


def test_batches_depend_on_the_seed_alone() -> None:
    one, same, other = (BatchDrawer(EXAMPLES, 100, 3, 4, seed) for seed in (1, 1, 2))
    for number in (0, 3, 4, 11):
        assert (one.draw(number).documents == same.draw(number).documents).all()
    assert any((one.draw(number).queries != other.draw(number).queries).any() for number in range(5))


def test_each_epoch_has_every_example_once() -> None:
    drawer = BatchDrawer(EXAMPLES, 100, 2, 4, 1)
    for epoch in range(2):
        queries = [query for place in range(5) for query in drawer.draw(5 * epoch + place).queries.tolist()]
        assert sorted(queries) == list(range(20))


def test_positives_come_first_and_relevant_ones_do_not_compete() -> None:
    shared = [Example(0, (5,)), Example(1, (5, 6)), Example(0, (7,)), Example(2, (8,))]
    part = BatchDrawer(shared, 50, 2, 4, 3).draw(0)
    relevant = {0: {5, 7}, 1: {5, 6}, 2: {8}}
    flat = part.documents.reshape(-1)
    for i, query in enumerate(part.queries.tolist()):
        assert part.documents[i, 0] in relevant[query]
        assert not set(part.documents[i, 1:].tolist()) & relevant[query]
        for j, document in enumerate(flat.tolist()):
            assert part.excluded[i, j] == (document in relevant[query] and j != 3 * i)


def test_teacher_scores_go_with_their_documents() -> None:
    examples = [Example(i, (i,), (10 + i, 20 + i), {i: 3.0, 10 + i: 1.0 + i, 20 + i: -1.0}) for i in range(4)]
    part = BatchDrawer(examples, 30, 2, 4, 1).draw(0)
    for row, scores in zip(part.documents.tolist(), part.teacher.tolist(), strict=True):
        expected = {row[0]: 3.0, 10 + row[0]: 1.0 + row[0], 20 + row[0]: -1.0}
        assert scores == [expected[number] for number in row]
    few = BatchDrawer([Example(0, (0,), (1,), {0: 1.0, 1: 0.0})] * 2, 30, 3, 2, 1).draw(0)
    assert np.isnan(few.teacher[:, 2:]).all()


@pytest.mark.parametrize(("warmup", "steps"), [(0.1, 100), (0.0, 10), (1.0, 10), (0.5, 1)])
def test_the_rate_rises_and_falls(warmup: float, steps: int) -> None:
    run = RunSettings(warmup=warmup)
    rates = [run.compute_rate(step, steps) for step in range(steps)]
    assert max(rates) == 1
    assert all(0 < rate <= 1 for rate in rates)
    top = rates.index(1)
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)
