"""The folder of a run: one run at a time, nothing left of what was refused, and an end that is whole."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from asterism.errors import IndexExists, InputError, SettingError, TrainingError
from asterism.recipes import run as running
from asterism.recipes.recipe import read_recipe
from asterism.recipes.run import run_recipe
from asterism.training.log import LOG
from asterism.training.run_folder import hold_run_folder
from asterism.training.saving import CHECKPOINT
from tests.training.resuming import Stopped, compare_resumed, stop_after
from tests.training.tiny import make_recipe


def test_two_runs_in_one_folder(model: Path, pairs: Path, tmp_path: Path) -> None:
    recipe = make_recipe("colbert", model, pairs)
    with (
        hold_run_folder(tmp_path / "x.run"),
        pytest.raises(TrainingError, match=r"x\.run is in use by another run: wait"),
    ):
        run_recipe(recipe, tmp_path / "x")
    run_recipe(recipe, tmp_path / "x")


def test_a_corrected_command_is_not_refused(model: Path, pairs: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no example has hard negatives"):
        run_recipe(make_recipe("cross_cls", model, pairs, "negatives.ranking="), tmp_path / "x")
    assert not (tmp_path / "x.run").exists()
    assert len(run_recipe(make_recipe("cross_cls", model, pairs), tmp_path / "x").losses) == 8


def test_a_run_that_was_killed_while_it_claimed_its_folder(model: Path, pairs: Path, tmp_path: Path) -> None:
    (tmp_path / "x.run").mkdir()
    for name in ("lock", ".data.json.new-77"):
        (tmp_path / "x.run" / name).write_text("")
    run_recipe(make_recipe("colbert", model, pairs), tmp_path / "x")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_fifo_in_a_folder_that_is_in_the_way(model: Path, pairs: Path, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    os.mkfifo(tmp_path / "x" / LOG)
    with pytest.raises(IndexExists, match="x exists already"):
        run_recipe(make_recipe("colbert", model, pairs), tmp_path / "x")


@pytest.mark.parametrize("to", [".", "", "/", ".."])
def test_a_path_that_is_no_new_folder(model: Path, pairs: Path, to: str) -> None:
    with pytest.raises(IndexExists, match=r"expected the path of a new folder|exists already"):
        run_recipe(make_recipe("colbert", model, pairs), Path(to))


@pytest.mark.parametrize("processes", ["two", "2"])
def test_processes_that_nobody_started(
    model: Path, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: str
) -> None:
    monkeypatch.setenv("WORLD_SIZE", processes)
    with pytest.raises(InputError, match=f"WORLD_SIZE={processes} announces cannot be joined .* start with torchrun"):
        run_recipe(make_recipe("colbert", model, pairs), tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_one_passage_for_one_query(model: Path, tmp_path: Path) -> None:
    """The only other passage would be the right one."""
    (tmp_path / "one.jsonl").write_text('{"query": "a b", "pos": ["c d"]}\n')
    recipe = make_recipe("colbert", model, tmp_path / "one.jsonl", "data.dev_share=0", "run.negatives=3")
    with pytest.raises(InputError, match=r"1 examples with 1 passages, .* expected at least two passages"):
        run_recipe(recipe, tmp_path / "x")


def test_wrong_input_leaves_nothing(model: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        run_recipe(make_recipe("colbert", model, tmp_path / "missing.jsonl"), tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_is_killed_at_its_very_end(
    model: Path, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model has its log; the next command removes what is left, and says that the model is there."""
    recipe = make_recipe("colbert", model, pairs)

    def stop(_: Path) -> None:
        raise Stopped

    with monkeypatch.context() as patched:
        patched.setattr(running, "remove_run_folder", stop)
        with pytest.raises(Stopped):
            run_recipe(recipe, tmp_path / "x")
    assert len((tmp_path / "x" / LOG).read_text().splitlines()) == 8
    assert (tmp_path / "x.run").exists()
    with pytest.raises(IndexExists, match="x exists already"):
        run_recipe(recipe, tmp_path / "x")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_run_whose_model_somebody_else_put_there(model: Path, pairs: Path, tmp_path: Path) -> None:
    recipe = make_recipe("colbert", model, pairs)
    with pytest.raises(Stopped):
        run_recipe(recipe, tmp_path / "x", report=stop_after(5))
    (tmp_path / "x").mkdir()
    with pytest.raises(IndexExists):
        run_recipe(recipe, tmp_path / "x")
    assert (tmp_path / "x.run" / CHECKPOINT).exists()


def test_a_folder_on_another_disk(model: Path, pairs: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "x.run").symlink_to(tmp_path / "elsewhere")
    run_recipe(make_recipe("colbert", model, pairs), tmp_path / "x")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("place", ["x", "x/states", "x.run", "x.run/states", "file"])
def test_a_place_where_states_cannot_be(model: Path, pairs: Path, tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    recipe = make_recipe("colbert", model, pairs, "model.train_layers=2")
    with pytest.raises(InputError, match=r"is inside|is not a folder"):
        run_recipe(recipe, tmp_path / "x", states=tmp_path / place)


def test_states_are_told_while_they_are_computed(model: Path, pairs: Path, tmp_path: Path) -> None:
    """And not when they are found."""
    recipe = make_recipe("xtr", model, pairs, "model.train_layers=2", "run.steps=1")
    told: list[list[str]] = []
    for name in ("x", "y"):
        notes: list[str] = []
        run_recipe(recipe, tmp_path / name, notes.append, states=tmp_path / "states")
        told.append([note for note in notes if "frozen layers" in note])
    assert told[0][-1].endswith("once: 100 %")
    assert told[1] == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("model.expand_queries=False", "expand_queries is 'False', expected true or false"),
        ("model.skip_punctuation=1", "skip_punctuation is 1, expected true or false"),
        ("model.query_marker=5", "query_marker is 5, expected a text"),
        ("negatives.teacher=5", "teacher is 5, expected a text"),
        ("data.train=5", "train is 5, expected a list of paths"),
        (f"run.steps={'9' * 5000}", "'run.steps=9+' has a value that cannot be read"),
        (f"run.steps={'[' * 3000}", r"'run.steps=\[+' has a value that cannot be read"),
    ],
)
def test_values_of_another_type(change: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        read_recipe("colbertv2", [change])


def test_recipes_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "deep.toml").write_text(f"a = {'[' * 5000}")
    (tmp_path / "long.toml").write_text(f"[run]\nsteps = {'9' * 5000}")
    for name in ("deep.toml", "long.toml"):
        with pytest.raises(SettingError, match=f"{name} cannot be read as a recipe"):
            read_recipe(tmp_path / name)
    with pytest.raises(SettingError, match="there is no file x"):
        read_recipe("x" * 300)


def test_the_score_does_not_depend_on_how_pairs_are_written(model: Path, tmp_path: Path) -> None:
    """A query with three passages on one line, or on three."""
    words = ["alpha", "beta", "gamma", "delta"]
    groups = [
        (f"{word} {number}", [f"{word} {number} {i}" for i in range(3)]) for number in range(15) for word in words
    ]
    once, thrice = tmp_path / "once.jsonl", tmp_path / "thrice.jsonl"
    once.write_text("".join(json.dumps({"query": query, "pos": pos}) + "\n" for query, pos in groups))
    lines = [json.dumps({"query": query, "pos": one}) + "\n" for query, pos in groups for one in pos]
    thrice.write_text("".join(lines))
    given = ("run.steps=1", "run.rate=0", "data.dev_share=0.3")
    scores = [
        run_recipe(make_recipe("colbert", model, file, *given), tmp_path / file.stem).best_score
        for file in (once, thrice)
    ]
    assert scores[0] == scores[1]
    assert scores[0] is not None


def test_a_resumed_run_asks_a_model_as_the_teacher_alike(model: Path, pairs: Path, tmp_path: Path) -> None:
    given = ("negatives.ranking=lexical", f"negatives.teacher={model}", "run.negatives=2", "run.refresh_every=3")
    recipe = make_recipe("colbertv2", model, pairs, *given)
    compare_resumed(recipe, tmp_path, ("model.safetensors", "heads.safetensors"))
