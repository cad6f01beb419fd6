"""What lies in the folder of a stopped run may have changed: it is noticed, and never trained on."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from asterism.errors import AsterismError, OtherRun, TrainingError
from asterism.recipes.recipe import Recipe
from asterism.recipes.run import run_recipe
from asterism.training.log import LOG
from asterism.training.saving import BEST, CHECKPOINT, load_state, save_state
from tests.training.resuming import Stopped, stop_after
from tests.training.tiny import make_recipe

FROZEN = ("model.train_layers=2", "run.dropout=0")
MINED = ("negatives.ranking=lexical", "run.negatives=2")


def flip_bit(file: Path, place: int) -> None:
    content = bytearray(file.read_bytes())
    content[place] ^= 4
    file.write_bytes(content)


def stop_run(recipe: Recipe, to: Path, step: int = 6) -> Path:
    with pytest.raises(Stopped):
        run_recipe(recipe, to, report=stop_after(step))
    return to.with_name(f"{to.name}.run")


def change_state(file: Path, change: Callable[[dict[str, Any]], None]) -> None:
    state = load_state(file)
    assert state is not None
    change(state)
    save_state(file, state)


@pytest.mark.parametrize("name", [CHECKPOINT, BEST])
@pytest.mark.parametrize("share", [0.3, 0.5, 0.8])
def test_a_flipped_bit(model: Path, pairs: Path, tmp_path: Path, name: str, share: float) -> None:
    recipe = make_recipe("xtr", model, pairs)
    folder = stop_run(recipe, tmp_path / "x")
    weights = int(share * (folder / name).stat().st_size)
    flip_bit(folder / name, weights)
    with pytest.raises(TrainingError, match=rf"{name} is damaged, expected the state of a run"):
        run_recipe(recipe, tmp_path / "x")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (CHECKPOINT, lambda state: state["model"].clear()),
        (CHECKPOINT, lambda state: state.pop("model")),
        (CHECKPOINT, lambda state: state["model"].update({key: torch.zeros(1) for key in state["model"]})),
        (BEST, lambda state: state["model"].clear()),
        (BEST, lambda state: state.pop("model")),
        (BEST, lambda state: state["model"].update({key: torch.zeros(1) for key in state["model"]})),
        (BEST, lambda state: state.update(best=[0.5, 1])),
        (BEST, lambda state: state.update(run={"x": 1})),
    ],
)
def test_other_weights(
    model: Path, pairs: Path, tmp_path: Path, name: str, change: Callable[[dict[str, Any]], None]
) -> None:
    recipe = make_recipe("colbert", model, pairs, "run.rate=1e-12")  # the first weights stay the best
    folder = stop_run(recipe, tmp_path / "x")
    change_state(folder / name, change)
    with pytest.raises(TrainingError, match=r"does not (fit|have the weights)|is of another run") as error:
        run_recipe(recipe, tmp_path / "x")
    assert isinstance(error.value, OtherRun) == ("another run" in str(error.value))
    assert not (tmp_path / "x").exists()


def test_best_weights_that_are_gone(model: Path, pairs: Path, tmp_path: Path) -> None:
    recipe = make_recipe("colbert", model, pairs)
    (stop_run(recipe, tmp_path / "x") / BEST).unlink()
    with pytest.raises(TrainingError, match=r"best\.pt is missing, expected the best weights"):
        run_recipe(recipe, tmp_path / "x")


def test_changed_states_are_made_again(model: Path, pairs: Path, tmp_path: Path) -> None:
    recipe = make_recipe("colbert", model, pairs, *FROZEN)
    whole = run_recipe(recipe, tmp_path / "whole")
    folder = stop_run(recipe, tmp_path / "x")
    (file,) = folder.glob("states/*/states.f16")
    flip_bit(file, file.stat().st_size // 2)
    assert run_recipe(recipe, tmp_path / "x").losses == whole.losses


@pytest.mark.parametrize("change", ["cut", "score"])
def test_changed_examples(model: Path, pairs: Path, tmp_path: Path, change: str) -> None:
    recipe = make_recipe("colbert", model, pairs, *MINED)
    file = stop_run(recipe, tmp_path / "x", 1) / "examples.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:20]) if change == "cut" else "".join(lines).replace("neg", "pos", 1))
    with pytest.raises(TrainingError, match=r"examples\.jsonl is not what was written: remove .*x\.run to begin anew"):
        run_recipe(recipe, tmp_path / "x")


@pytest.mark.parametrize("content", ["hello\n", "[1]\n", "", '{"step": 1, "loss": 0}\n', None])
def test_a_log_that_is_lost(model: Path, pairs: Path, tmp_path: Path, content: str | None) -> None:
    recipe = make_recipe("colbert", model, pairs)
    folder = stop_run(recipe, tmp_path / "x")
    (folder / LOG).unlink()
    if content is not None:
        (folder / LOG).write_text(content)
    done = run_recipe(recipe, tmp_path / "x")
    logged = [line for line in (tmp_path / "x" / LOG).read_text().splitlines() if line]
    assert len(logged) == 8
    assert all(f'"loss": {loss!r}' in line for line, loss in zip(logged, done.losses, strict=True))


@pytest.mark.parametrize("name", [CHECKPOINT, BEST, LOG, "data.json", "examples.jsonl.sha256"])
def test_a_fifo(model: Path, pairs: Path, tmp_path: Path, name: str) -> None:
    recipe = make_recipe("colbert", model, pairs, *MINED)
    folder = stop_run(recipe, tmp_path / "x")
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(AsterismError):
        run_recipe(recipe, tmp_path / "x")


def change_moments(state: dict[str, Any]) -> None:
    next(iter(state["optimiser"]["state"].values()))["exp_avg"] = torch.zeros(3)


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state.update(step="x"),
        lambda state: state.update(step=-1),
        lambda state: state.update(step=8, losses=[]),
        lambda state: state.update(losses=["a", "b", "c", "d"]),
        lambda state: state.update(losses=[float("nan")] * 4),
        lambda state: state.update(best=[]),
        lambda state: state.update(best=[0.5, 9]),
        lambda state: state["examples"].append((10**6, [0], [], {})),
        lambda state: state["examples"].append((0, [10**6], [], {})),
        lambda state: state["examples"].append((0, [], [], {})),
        lambda state: state["examples"].append((0, [0], [], {0: "high"})),
        lambda state: state["examples"].append(7),
        lambda state: state.update(examples={}),
        lambda state: state.update(optimiser=[]),
        lambda state: state["optimiser"].update(state={0: {}}),
        lambda state: state["optimiser"]["state"].update(x=1),
        lambda state: state["optimiser"].update(state={}),
        change_moments,
        lambda state: state["run"].update({5: 1}),
        lambda state: state["run"].update({"run.rate": torch.zeros(2)}),
    ],
)
def test_a_checkpoint_that_no_run_wrote(
    model: Path, pairs: Path, tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    recipe = make_recipe("colbert", model, pairs)
    folder = stop_run(recipe, tmp_path / "x")
    change_state(folder / CHECKPOINT, change)
    with pytest.raises(TrainingError, match=r"does not (fit the model|say which run)|is of another run"):
        run_recipe(recipe, tmp_path / "x")


def test_rates_in_a_checkpoint_are_not_used(model: Path, pairs: Path, tmp_path: Path) -> None:
    """Those of the settings are."""
    recipe = make_recipe("colbert", model, pairs)
    whole = run_recipe(recipe, tmp_path / "whole")
    folder = stop_run(recipe, tmp_path / "x")
    change_state(folder / CHECKPOINT, lambda state: state["optimiser"].update(param_groups=[]))
    assert run_recipe(recipe, tmp_path / "x").losses == whole.losses
