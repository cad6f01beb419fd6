"""One hit for each group, and no text twice: searched as deep as that needs."""

from __future__ import annotations

import pytest

from asterism import Document, Ranking
from asterism.errors import InputError
from asterism.retriever.grouping import search_in_groups

DOCUMENTS = [
    Document(str(i), f"text {i // 2} " + "about many things " * 5, metadata={"file": f"f{i // 10}"}) for i in range(40)
]


def search(k: int) -> Ranking:
    found = [(document, 100.0 - i) for i, document in enumerate(DOCUMENTS)]
    return Ranking.from_scores("q", "lexical", found[:k], {})


@pytest.mark.parametrize(
    ("k", "group_by", "fold", "ids"),
    [
        (3, "file", False, ["0", "10", "20"]),
        (9, "file", False, ["0", "10", "20", "30"]),
        (3, None, True, ["0", "2", "4"]),
        (2, "none", False, ["0", "1"]),
        (1, "file", True, ["0"]),
    ],
)
def test_the_best_of_each_group(k: int, group_by: str | None, fold: bool, ids: list[str]) -> None:
    found = search_in_groups(search, k, 0, len(DOCUMENTS), group_by, fold)
    assert found.ids == ids
    assert [hit.rank for hit in found] == list(range(1, len(ids) + 1))


def test_texts_that_differ_are_not_folded() -> None:
    texts = ["the quick brown fox", "a speed of light", "the quick brown fox"]
    found = [(Document(str(i), text), 1.0) for i, text in enumerate(texts)]
    ranking = search_in_groups(lambda k: Ranking.from_scores("q", "x", found[:k], {}), 3, 0, 3, None, True)
    assert ranking.ids == ["0", "1"]


@pytest.mark.parametrize("wrong", [{"group_by": ""}, {"group_by": 3}, {"k": 0}])
def test_wrong_use(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        search_in_groups(search, **{"k": 3, "offset": 0, "documents": 40, "group_by": "file", "fold": False, **wrong})
