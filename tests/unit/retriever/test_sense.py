"""The default model answers sensibly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from asterism import Document, Retriever
from tests.unit.retriever.documents import METHODS


@pytest.fixture(scope="module")
def sensible(minilm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Retriever]:
    texts = {
        "volcano": "Molten rock that reaches the surface of the Earth is called lava.",
        "bread": "Yeast makes the dough rise before it is baked in a hot oven.",
        "moon": "Neil Armstrong was the first person to walk on the Moon, in July 1969.",
        "chess": "The bishop moves diagonally, the rook along ranks and files.",
        "heart": "The left ventricle pumps blood with oxygen into the aorta.",
        "python": "sched.scheduler runs functions at given times, one after another.",
        "whale": "The blue whale is the largest animal that has ever lived.",
        "light": "In 1676 Ole Rømer made the first measurement of the speed of light.",
    }
    with Retriever.create(tmp_path_factory.mktemp("sensible") / "x.ast") as made:
        made.add(Document(id, text) for id, text in texts.items())
        yield made


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("question", "id"),
    [
        ("who was the first human on the lunar surface?", "moon"),
        ("how do I bake a loaf?", "bread"),
        ("which astronomer first measured how fast light travels?", "light"),
        ("biggest creature on the planet", "whale"),
    ],
)
def test_an_obvious_question_finds_the_obvious_document(
    sensible: Retriever, question: str, id: str, method: Any
) -> None:
    ranking = sensible.search(question, k=3, method=method)
    assert ranking.ids[0] == id
    assert (ranking.query, ranking.method, len(ranking)) == (question, method, 3)
    assert [hit.rank for hit in ranking] == [1, 2, 3]
    assert [hit.score for hit in ranking] == sorted((hit.score for hit in ranking), reverse=True)
    assert ranking[0].document == sensible.get(id)
    assert ranking.timings["encode"] > 0


def test_an_explanation_points_at_the_words_that_answer(sensible: Retriever) -> None:
    explanation = sensible.explain("the Moon landing of Armstrong", "moon", method="colbert")
    text = explanation.document.text
    answers = {match.query_token: text[match.begin : match.end] for match in explanation.matches if match.begin >= 0}
    assert answers["moon"] == "Moon"
    assert answers["armstrong"] == "Armstrong"


def test_many_queries_as_one_by_one_with_the_default_model(sensible: Retriever) -> None:
    queries = ["speed of light", "a", "how does a bishop move on the board of a game?"]
    assert sensible.search_many(queries, 4) == [sensible.search(query, 4) for query in queries]
