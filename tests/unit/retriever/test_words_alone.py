"""An index of words alone needs no model and no network."""

from __future__ import annotations

from pathlib import Path

import pytest

from asterism import Document, Retriever, TermCounting
from asterism.errors import InputError
from asterism.models import registry
from tests import layouts

FEW = [Document("fox", "The quick brown fox."), Document("light", "Who measured the speed of light?")]


@pytest.fixture(autouse=True)
def no_models(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> Path:
        raise AssertionError(f"{name} was asked for")

    monkeypatch.setattr(registry, "find_copy", refuse)
    monkeypatch.setattr(registry, "fetch_model", refuse)


def test_without_a_model(tmp_path: Path) -> None:
    with Retriever.create(tmp_path / "x.ast", views=["lexical"]) as made:
        made.add(FEW)
        made.add([Document("dogs", "Lazy dogs.")])
        assert made.search("the speeds").ids == ["light"]
        assert made.explain("fox", "fox").matches[0].token == "fox"
        assert made.info()["model"] is None
        made.compact()
        made.check()
        with pytest.raises(InputError, match="an index of words alone, which has no model"):
            _ = made.encoder
    Retriever.repair(tmp_path / "x.ast")
    with Retriever.open(tmp_path / "x.ast") as opened:
        assert opened.search("dog").ids == ["dogs"]


def test_settings_of_words_are_kept(tmp_path: Path) -> None:
    counting = TermCounting(k1=0.5, b=0.1, language="de")
    with Retriever.create(tmp_path / "x.ast", "any/model", views=["lexical"], terms="words", counting=counting) as made:
        info = made.info()
    assert (info["k1"], info["b"], info["language"], info["terms"]) == (0.5, 0.1, "de", "words")


def test_a_model_with_a_lexical_head_is_still_asked(tmp_path: Path) -> None:
    m3 = layouts.bge_m3(tmp_path / "m3")
    with Retriever.create(tmp_path / "x.ast", m3, views=["lexical"]) as made:
        assert made.info()["terms"] == "model"
