"""Create and open."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from asterism import Retriever, TokenBuild
from asterism.errors import (
    IndexExists,
    InputError,
    ModelDiffers,
    NotAnIndex,
    UnknownModel,
)
from asterism.settings import EncoderSettings
from tests import layouts
from tests.unit.retriever.documents import FEW, Put


def test_create_add_open_search(put: Put, model: Path) -> None:
    made = put()
    before = made.search("quick fox", 4)
    with Retriever.open(made.path) as opened:
        assert opened.search("quick fox", 4) == before
        assert (len(opened), list(opened)) == (4, FEW)
        assert opened.info()["model"] == str(model.resolve())


@pytest.mark.parametrize("taken", ["file", "folder", "link"])
def test_create_where_something_exists(taken: str, tmp_path: Path, model: Path) -> None:
    place = tmp_path / "x"
    place.touch() if taken == "file" else place.mkdir() if taken == "folder" else place.symlink_to("nowhere")
    with pytest.raises(IndexExists, match="exists already"):
        Retriever.create(place, model)


def test_create_without_a_usable_model_leaves_nothing(tmp_path: Path) -> None:
    dense = layouts.sentence_transformer(tmp_path / "dense")
    with pytest.raises(InputError, match="no multi vectors"):
        Retriever.create(tmp_path / "x.ast", dense, views=["multi"])
    for name in ("all-MiniLM", tmp_path / "nowhere", 5):
        with pytest.raises(InputError):
            Retriever.create(tmp_path / "x.ast", name)
    assert [file.name for file in tmp_path.iterdir()] == ["dense"]


def test_open_something_that_is_not_an_index(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path, tmp_path / "file", tmp_path / "nowhere"):
        with pytest.raises(NotAnIndex):
            Retriever.open(place)


def test_another_model_is_refused(put: Put, tmp_path: Path) -> None:
    path = put().path
    other = layouts.colbert(tmp_path / "other", query_maxlen=16)
    with pytest.raises(ModelDiffers, match="other is not the model"):
        Retriever.open(path, model=other)


def test_a_moved_model_can_be_given(put: Put, model: Path, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    shutil.copytree(model, old)
    made = put(model=old)
    before = made.search("fox", 2)
    made.close()
    shutil.move(old, new)
    with Retriever.open(made.path) as opened, pytest.raises(UnknownModel, match="open\\(path, model=\\) or --model"):
        opened.search("fox")
    with Retriever.open(made.path, model=new) as opened:
        assert opened.search("fox", 2) == before


def test_settings_are_kept(put: Put) -> None:
    made = put(build=TokenBuild(bits=2), encoder=EncoderSettings(precision="float32"))
    info = Retriever.open(made.path).info()
    assert (info["bits"], info["precision"], info["dimensions"]) == (2, "float32", 16)
