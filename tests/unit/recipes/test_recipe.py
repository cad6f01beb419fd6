"""Recipes as files: their sections, changes to them, and what is wrong with a wrong one. No torch."""

from __future__ import annotations

from pathlib import Path

import pytest

from asterism.errors import SettingError
from asterism.recipes.recipe import Recipe, list_recipes, read_recipe
from asterism.training.settings import PairLossSettings, PairModelSettings


def test_the_recipes_of_the_papers() -> None:
    assert list_recipes() == ["colbert", "colbertv2", "colxtr", "constbert", "cross_cls", "cross_emb", "xtr"]
    for name in list_recipes():
        assert isinstance(read_recipe(name), Recipe)
    assert read_recipe("xtr").training.loss.objective == "xtr"
    assert read_recipe("constbert").training.model.vectors_per_document == 32
    assert read_recipe("colbertv2").training.loss.distillation > 0
    assert read_recipe("colbert").training.model.expand_queries
    assert read_recipe("cross_cls").training.model == PairModelSettings()
    assert read_recipe("cross_emb").training.model == PairModelSettings(form="emb")  # whose markers are the default
    assert read_recipe("cross_emb").training.loss == PairLossSettings(temperature=1.0)


def test_a_file_and_changes(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('[run]\nrate = 1e-4\n[data]\ntrain = ["a", "b"]\n')
    found = read_recipe(file, ["run.batch=7", "model.backbone=gte-small", "loss.objective='xtr'"])
    assert (found.training.run.rate, found.training.run.batch) == (1e-4, 7)
    assert found.data.train == ("a", "b")
    assert (found.training.model.backbone, found.training.loss.objective) == ("gte-small", "xtr")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[run]\nrat = 1", "[run] has no setting 'rat': did you mean 'rate'?"),
        ("[runn]\nrate = 1", "a recipe has no section 'runn': did you mean 'run'?"),
        ("rate = 1", "a recipe has no section 'rate'"),
        ("run = 1", "run is 1, expected a section with settings"),
        ("[run]\nrate = 'fast'", "[run] rate is 'fast', expected a number from 0 to 10"),
        ("[run]\nbatch = 0", "[run] batch is 0, expected a whole number from 1"),
        ("[loss]\nobjective = 'mse'", "[loss] objective is 'mse', expected one of 'maxsim', 'xtr'"),
        ("[loss]\ncontrast = 0", "[loss] contrast and distillation are both 0"),
        ("[model]\nvectors_per_document = 500", "[model] vectors_per_document is 500, expected fewer than the 180"),
        ("[negatives]\nmargin = 1.0", "[negatives] margin needs a teacher"),
        ("[negatives]\nmargin = -1.0\nteacher = 'hybrid'", "[negatives] margin is -1.0, expected a number from 0"),
        ("[negatives]\ncount = 9\ndepth = 5", "[negatives] count is 9, but only 5 ranks are looked at"),
        ("[negatives]\nranking = 'lexical'", "run.negatives is 0, so that negatives.ranking = 'lexical' would change"),
        ("[run]\nrefresh_every = 5", "run.negatives is 0, so that run.refresh_every = 5 would change nothing"),
        ("[loss]\ndistillation = 1", "run.negatives is 0, so that loss.distillation = 1.0 would change nothing"),
        ("[model]\nform = 'cros'", "model.form is 'cros', expected one of 'tokens', 'cls', 'emb'"),
        ("[model]\nform = 'cls'\ndimensions = 3", "[model] has no setting 'dimensions': known are backbone, form"),
        ("[model]\nform = 'cls'\n[loss]\nk_train = 3", "[loss] has no setting 'k_train': known are temperature"),
        ("[model]\nform = 'cls'\nlength = 8", "[model] length is 8, expected a whole number from 16"),
        ("[model]\nform = 'cls'\nmarkers = ['a']", "[model] markers is ['a'], but only the form 'emb' has markers"),
        ("[model]\nform = 'emb'\nmarkers = ['a', 'b']", "[model] markers is ['a', 'b'], expected three different"),
        ("[model]\nform = 'emb'\nmarkers = 'abc'", "[model] markers is 'abc', expected a list of three tokens"),
        ("[model]\nform = 'cls'", "run.negatives is 0, but a cross-encoder learns only from a query's own passages"),
        (
            "[model]\nform = 'cls'\n[run]\nnegatives = 1\nrefresh_every = 5",
            "run.refresh_every is 5, but a cross-encoder cannot search all passages for negatives, expected 0",
        ),
        ("[data]\ntrain = [1]", "[data] train is [1], expected a list of paths"),
        ("[run", "cannot be read as a recipe"),
    ],
)
def test_a_wrong_recipe_is_one_clear_line(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(content)
    with pytest.raises(SettingError) as error:
        read_recipe(file)
    assert message in str(error.value)
    assert str(error.value).startswith(str(file))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("change", ["rate=1", "run.rate", "run", "=", "run.=1"])
def test_a_change_that_is_none(change: str) -> None:
    with pytest.raises(SettingError):
        read_recipe("xtr", [change])


def test_a_change_of_what_is_no_section(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text("run = 1")
    with pytest.raises(SettingError, match="run is 1, expected a section with settings"):
        read_recipe(file, ["run.batch=2"])


def test_a_folder_of_the_same_name_is_not_the_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as the model that was trained by it."""
    (tmp_path / "xtr").mkdir()
    monkeypatch.chdir(tmp_path)
    assert read_recipe("xtr").training.loss.objective == "xtr"


def test_a_recipe_that_is_too_long_is_not_half_read(tmp_path: Path) -> None:
    file = tmp_path / "long.toml"
    file.write_text("[run]\nbatch = 4\n" + "# more\n" * 200_000)
    with pytest.raises(SettingError, match=r"cannot be read as a recipe: .*expected at most"):
        read_recipe(file)


def test_an_unknown_recipe() -> None:
    with pytest.raises(
        SettingError, match=r"there is no file nothing\.toml, expected one, or a recipe's name: colbert"
    ):
        read_recipe("nothing.toml")
