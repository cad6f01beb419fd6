"""Two processes have the gradient of one with a batch twice as large; a recipe runs on both."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.training.tiny import SMALL, SMALL_PAIRS, write_pairs

DRIVER = """
import sys
from pathlib import Path
import torch
from asterism.encoders.checkpoints.layouts import open_checkpoint
from asterism.training.batches import BatchDrawer
from asterism.training.examples import read_training_set
from asterism.training.making import make_learner
from asterism.training.optimiser import set_dropout
from asterism.training.processes import average_gradients, find_own_number, join_processes, leave_processes
from asterism.training.settings import (
    LossSettings, ModelSettings, PairLossSettings, PairModelSettings, RunSettings, TrainingSettings
)

model, pairs, to, objective = sys.argv[1:]
torch.set_num_threads(1)
join_processes()
if objective in ("cls", "emb"):
    loss = PairLossSettings(distillation=0.5)
    settings = TrainingSettings(PairModelSettings(model, form=objective, length=40), loss, RunSettings(seed=3))
    negatives, size = 3, 8
else:
    loss = LossSettings(objective=objective, k_train=40)
    chosen = ModelSettings(model, dimensions=12, query_length=16, document_length=24)
    settings = TrainingSettings(chosen, loss, RunSettings(seed=3))
    negatives, size = 1, 16
data = read_training_set(pairs)
learner = make_learner(open_checkpoint(Path(model)), settings, data, Path(to).parent, print)
made = learner.model
set_dropout(made, 0.0)
made.train()
part = BatchDrawer(data.examples, len(data.passages), negatives, size, 5).draw(0)
learner.compute_loss(part).backward()
parameters = [one for one in made.parameters() if one.grad is not None]
average_gradients(parameters)
if find_own_number() == 0:
    torch.save({name: one.grad for name, one in made.named_parameters() if one.grad is not None}, to)
leave_processes()
"""


@pytest.mark.parametrize("objective", ["maxsim", "xtr", "cls", "emb"])
def test_two_processes_have_the_gradient_of_one(model: Path, pairs: Path, tmp_path: Path, objective: str) -> None:
    driver = tmp_path / "driver.py"
    driver.write_text(DRIVER)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    gradients = []
    for processes in (1, 2):
        to = tmp_path / f"{processes}.pt"
        launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
        given = [str(driver), str(model), str(pairs), str(to), objective]
        done = subprocess.run([*launch, *given], env=environment, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr[-2000:]
        gradients.append(torch.load(to, weights_only=True))
    alone, together = gradients
    assert alone.keys() == together.keys()
    largest = max(float(gradient.abs().max()) for gradient in alone.values())
    assert largest > 1e-3
    for name, gradient in alone.items():
        assert float((gradient - together[name]).abs().max()) < 1e-5, name


@pytest.mark.parametrize(
    ("recipe", "changes"),
    [
        ("colbertv2", (*SMALL, "run.evaluate_every=2", "run.refresh_every=2")),
        ("cross_emb", (*SMALL_PAIRS, "run.evaluate_every=2", "negatives.teacher=hybrid")),
        ("xtr", (*SMALL, "run.negatives=1", "run.evaluate_every=0")),
    ],
    ids=["colbertv2", "cross_emb", "one evaluation"],
)
def test_a_recipe_on_two_processes(model: Path, tmp_path: Path, recipe: str, changes: tuple[str, ...]) -> None:
    """With fewer examples than both batches take, 11 of them, a teacher and new negatives on the way.

    Without evaluations on the way, the last weights are the best, and are read by both when one has just written them.
    """
    pairs = write_pairs(tmp_path / "few.jsonl", 12)
    settings = [
        *(f"model.backbone={model}", f"negatives.model={model}", f'data.train=["{pairs}"]'),
        *(*changes, "data.dev_share=0.2", "run.steps=4", "negatives.depth=8"),
        *("negatives.ranking=lexical", "negatives.count=3"),
    ]
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--no-python"]
    given = [
        str(Path(sys.executable).with_name("asterism")),
        "train",
        recipe,
        "--to",
        str(tmp_path / "x"),
        "--json",
        *(f"--set={one}" for one in settings),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*launch, *given], env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["steps"] == 4
    lines = (tmp_path / "x" / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [1, 2, 3, 4]
    assert not (tmp_path / "x.run").exists()
