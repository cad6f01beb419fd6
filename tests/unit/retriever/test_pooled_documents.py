"""Indexes with a largest number of vectors per document."""

from __future__ import annotations

from pathlib import Path

import pytest

from asterism import Document, Retriever
from asterism.errors import InputError
from tests import layouts

LONG = " ".join(layouts.WORDS * 3)


DOCUMENTS = [Document("short", "the quick brown fox"), Document("long", LONG, "Title"), Document("empty", "")]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return layouts.bge_m3(tmp_path_factory.mktemp("models") / "m3")


def test_an_index_of_pooled_documents(model: Path, tmp_path: Path) -> None:
    with Retriever.create(tmp_path / "x.ast", model, most_vectors=8) as made:
        made.add(DOCUMENTS)
        vectors = made.info()["vectors"]
        assert vectors <= 3 * 8
        for method in ("exact", "colbert", "xtr", "hybrid", "hybrid:m3-all"):
            for hit in made.search("the quick fox", method=method):
                explanation = made.explain("the quick fox", hit.id, method=method)
                assert explanation.score == pytest.approx(hit.score, abs=1e-5)
        found = made.explain("the quick fox", "long", method="exact")
        assert all((match.token, match.field, match.begin, match.end) == ("", "", -1, -1) for match in found.matches)
        assert next(match.query_token for match in found.matches if match.query_begin >= 0) == "▁the"
        short = made.explain("the quick fox", "short", method="exact")
        assert {match.field for match in short.matches if match.begin >= 0} == {"text"}
        shares = {share.view: share for share in made.explain("the quick fox", "long", method="hybrid").shares}
        assert any(match.begin >= 0 for match in shares["lexical"].matches)  # words have their places all the same
    with Retriever.open(tmp_path / "x.ast") as opened:  # the bound is kept with the index
        opened.update(DOCUMENTS)
        opened.compact()
        assert opened.info()["vectors"] == vectors


def test_queries_are_not_pooled(model: Path, tmp_path: Path) -> None:
    with Retriever.create(tmp_path / "x.ast", model, most_vectors=1) as made:
        made.add(DOCUMENTS)
        assert len(made.explain("the quick brown fox", "short", method="exact").matches) > 1


@pytest.mark.parametrize("wrong", [-1, 2.5, True, "8"])
def test_a_wrong_bound_is_told(model: Path, tmp_path: Path, wrong: object) -> None:
    with pytest.raises(InputError, match="most_vectors is"):
        Retriever.create(tmp_path / "x.ast", model, most_vectors=wrong)
    assert not (tmp_path / "x.ast").exists()


def test_a_bound_below_a_constant_number(tmp_path: Path) -> None:
    """A model that always gives eight vectors cannot be held to four; told before anything is encoded."""
    model = layouts.constbert(tmp_path / "constbert")
    with pytest.raises(InputError, match="8 vectors"):
        Retriever.create(tmp_path / "x.ast", model, most_vectors=4)
    with Retriever.create(tmp_path / "y.ast", model, most_vectors=8) as made:
        made.add(DOCUMENTS)
        assert made.info()["vectors"] == 24
